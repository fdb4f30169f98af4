//! What is read of each form, to the byte, and where.

use vramscope_text::{Class, Report, conclude, read};

#[test]
fn an_error_in_a_log_has_its_place_and_figures() {
    let text = "step 1\n[rank3]: Traceback (most recent call last):\n\
                [rank3]:   File \"/home/u/train.py\", line 67, in step\n\
                [rank3]:   File \"/x/lib/python3.11/site-packages/trl/t.py\", line 5, in f\n\
                [rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU 1 has a total \
                capacity of 23.65 GiB of which 512.00 KiB is free. Process 7 has 1.00 GiB memory in use. Including \
                non-PyTorch memory, this process has 22.60 GiB memory in use. Of the allocated memory 22.00 GiB is allocated by \
                PyTorch, with 1.00 GiB allocated in private pools (e.g., CUDA Graphs), and 100 bytes is reserved by PyTorch but \
                unallocated. If\n";
    let reading = read(text.as_bytes());
    assert_eq!(reading.records.len(), 1);
    let record = &reading.records[0];
    assert_eq!((record.line, record.from.as_str()), (5, "rank 3"));
    assert_eq!(record.place, "train.py:67 step");
    assert_eq!(record.framework.unwrap().name(), "TRL");
    assert_eq!(&text[record.offset as usize..][..4], "CUDA");
    let Report::Failure(failure) = &record.report else {
        panic!("{record:?}");
    };
    assert_eq!(failure.device, Some(1));
    let bytes = |figure: &Option<vramscope_text::Figure>| figure.as_ref().unwrap().bytes;
    assert_eq!(bytes(&failure.requested), 2 << 20);
    assert_eq!(bytes(&failure.free), 512 << 10);
    assert_eq!(bytes(&failure.in_pools), 1 << 30);
    assert_eq!(bytes(&failure.unallocated), 100);
    assert_eq!(failure.processes[0].pid, 7);
    assert_eq!(failure.requested.as_ref().unwrap().text, "2.00 MiB");
}

#[test]
fn a_failure_that_is_told_twice_is_one() {
    let line = "CUDA out of memory. Tried to allocate 2.00 MiB. GPU 1 has a total capacity of 23.65 GiB of which 5.00 MiB is free.\n";
    let reading = read(format!("{line}x\n[rank0]: {line}[rank0]: {line}").as_bytes());
    let times: Vec<_> = reading
        .records
        .iter()
        .map(|record| (record.from.as_str(), record.times))
        .collect();
    assert_eq!(times, [("", 1), ("rank 0", 2)]);
}

#[test]
fn tables_are_read() {
    let text = "
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 535.104.05   Driver Version: 535.104.05   CUDA Version: 12.2     |
|-------------------------------+----------------------+----------------------+
|   0  NVIDIA GeForce RTX 4090  On | 00000000:1E:00.0 Off |               Off |
| 30%   26C    P8    16W / 450W |  14214MiB / 24564MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+
|   1  NVIDIA GeForce RTX 4090  On | 00000000:1F:00.0 Off |               Off |
| 30%   26C    P8    16W / 450W |     14MiB / 24564MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                                  |
|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |
|=============================================================================|
|    0   N/A  N/A      4321      C   python train.py                14000MiB |
|    1   N/A  N/A       987      G   Xorg                               9MiB |
+-----------------------------------------------------------------------------+
|===========================================================================|
|                  PyTorch CUDA memory summary, device ID 0                 |
|---------------------------------------------------------------------------|
|            CUDA OOMs: 1            |        cudaMalloc retries: 2         |
|===========================================================================|
|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
|---------------------------------------------------------------------------|
| Allocated memory      |    1062 MB |    4877 MB |   89299 MB |   88237 MB |
|       from large pool |    1048 MB |    4865 MB |   89263 MB |   88215 MB |
| GPU reserved memory   |   12420 MB |   12420 MB |   16924 MB |    4504 MB |
| Non-releasable memory |     300 MB |   12420 MB |   16924 MB |    4504 MB |
+---------------------------+---------------+----------------------------------------------------+
| npu-smi 24.1.rc2          | Version: 24   |
+===========================+===============+====================================================+
| 0     Ascend910           | OK            | 178.5       36                0    / 0             |
| 0     0                   | 0000:9D:00.0  | 0           0    / 0          3416 / 65536         |
+------------------------------------------------------------------------------------------------+
";
    let reading = read(text.as_bytes());
    let [smi, summary, npu] = &reading.records[..] else {
        panic!("{:#?}", reading.records);
    };
    let Report::Devices(devices) = &smi.report else {
        panic!("{smi:?}");
    };
    assert_eq!(devices.len(), 2);
    assert_eq!(devices[0].used.bytes, 14214 << 20);
    assert_eq!(devices[0].processes[0].name, "python train.py");
    assert_eq!(devices[1].processes[0].pid, 987);
    let Report::Summary(summary) = &summary.report else {
        panic!("{summary:?}");
    };
    assert_eq!((summary.failures, summary.retries), (Some(1), Some(2)));
    assert_eq!(summary.reserved.as_ref().unwrap().bytes, 12420 << 20);
    assert_eq!(summary.not_releasable.as_ref().unwrap().bytes, 300 << 20);
    let Report::Devices(devices) = &npu.report else {
        panic!("{npu:?}");
    };
    assert_eq!(devices[0].used.bytes, 3416 << 20);
}

#[test]
fn log_lines_are_summed_up() {
    let text = "\
$ CUDA_VISIBLE_DEVICES=0 vllm serve model --max-model-len 8192
INFO [worker.py:241] the current vLLM instance can use total_gpu_memory (15.77GiB) x gpu_memory_utilization (0.90) = 14.20GiB
INFO [worker.py:241] model weights take 7.51GiB; non_torch_memory takes 0.39GiB; PyTorch activation peak memory takes 2.53GiB; the rest of the memory reserved for KV Cache is 3.76GiB.
INFO [gpu_worker.py:642]  Available KV cache memory: 2.97 GiB
INFO [model_runner.py]    Graph capturing finished in 1 secs, took 0.46 GiB
[2022-02-21 23:35:27,338] [INFO] [utils.py:827:see_memory_usage] MA 4.96 GB         Max_MA 5.09 GB         CA 6.39 GB         Max_CA 6 GB
[2022-02-21 23:35:29,951] [INFO] [utils.py:827:see_memory_usage] MA 4.89 GB         Max_MA 5.55 GB         CA 6.39 GB         Max_CA 6 GB
[Rank 0] (after 20 iterations) memory (MB) | allocated: 3270.16 | max allocated: 5670.39 | reserved: 6406.00 | max reserved: 6406.00
[2025-10-16 09:06:22 TP5] KV Cache is allocated. #tokens: 2795207, K size: 53.31 GB, V size: 53.31 GB
[2025-10-16 09:06:22 TP5] Memory pool end. avail mem=11.87 GB
[2025-07-29 18:14:43 TP0] Capture cuda graph end. Time elapsed: 19.50 s. mem usage=6.19 GB. avail mem=5.24 GB.
load_tensors:        CUDA0 model buffer size = 48928.09 MiB
actor: memory allocated (GB): 1.23, memory reserved (GB): 4.50, device memory used/total (GB): 10.10/79.10
";
    let reading = read(text.as_bytes());
    let told: Vec<String> = reading
        .usage
        .iter()
        .map(|it| {
            format!(
                "{} {} {}: {}, {} × {}",
                it.tool, it.from, it.what, it.first.text, it.count, it.highest.text
            )
        })
        .collect();
    for line in [
        "vLLM  all that it may use: 14.20 GiB, 1 × 14.20 GiB",
        "vLLM  weights: 7.51 GiB, 1 × 7.51 GiB",
        "vLLM  KV cache: 3.76 GiB, 2 × 3.76 GiB",
        "vLLM  CUDA graphs: 0.46 GiB, 1 × 0.46 GiB",
        "DeepSpeed  allocated at most: 5.09 GB, 2 × 5.55 GB",
        "Megatron rank 0 max allocated: 5670.39 MB, 1 × 5670.39 MB",
        "SGLang TP5 KV cache, keys: 53.31 GB, 1 × 53.31 GB",
        "SGLang TP0 CUDA graphs: 6.19 GB, 1 × 6.19 GB",
        "llama.cpp  weights: 48928.09 MiB, 1 × 48928.09 MiB",
        "verl  in use on the device: 10.10 GB, 1 × 10.10 GB",
    ] {
        let line = line.replace("max allocated", "allocated at most");
        assert!(told.contains(&line), "{line} is not in {told:#?}");
    }
    assert_eq!(
        reading.command.as_deref(),
        Some("CUDA_VISIBLE_DEVICES=0 vllm serve model --max-model-len 8192")
    );
    assert!(reading.records.is_empty());
}

#[test]
fn ordinary_text_has_nothing() {
    let text = "loss 0.3 memory fine\nthe device has 24 GiB\nRuntimeError: shapes differ\nall processes Killed their time\n";
    let reading = read(text.as_bytes());
    assert!(
        reading.records.is_empty() && reading.usage.is_empty(),
        "{reading:#?}"
    );
    assert_eq!(reading.lines, 4);
}

#[test]
fn what_powershell_writes_is_read() {
    let text = "x\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU 1 has a total capacity of 23.65 GiB of which 5.00 MiB is free.\n";
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(read(&wide), read(text.as_bytes()));
}

/// What torch prints where a driver does not tell what a process holds.
#[test]
fn sizes_that_a_program_did_not_know_are_not_told() {
    let text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 23.98 GiB of which \
                10.00 MiB is free. Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use. Of the allocated memory \
                20.30 GiB is allocated by PyTorch, and 3.00 GiB is reserved by PyTorch but unallocated.\n";
    let reading = read(text.as_bytes());
    let Report::Failure(failure) = &reading.records[0].report else {
        panic!("{reading:?}");
    };
    assert_eq!((&failure.in_use, failure.total.is_some()), (&None, true));
    let shares = conclude(&reading.records[0]).unwrap().shares;
    assert!(
        shares.iter().all(|share| share.bytes < 24 << 30),
        "{shares:?}"
    );
}

#[test]
fn figures_that_contradict_each_other_lead_nowhere() {
    let text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 10.00 GiB of which \
                8.00 GiB is free. Including non-PyTorch memory, this process has 9.50 GiB memory in use. Of the allocated memory \
                12.00 GiB is allocated by PyTorch, and 3.00 GiB is reserved by PyTorch but unallocated.\n";
    let reading = read(text.as_bytes());
    let conclusion = conclude(&reading.records[0]).unwrap();
    assert_eq!(conclusion.main().class, Class::Unknown, "{conclusion:?}");
}

#[test]
fn errors_without_an_allocators_figures_are_failures() {
    for (text, requested) in [
        (
            "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 21474836480 bytes.\n",
            Some(20 << 30),
        ),
        (
            "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,000,000,000 bytes (allocated so far: 0 bytes).\n",
            Some(8_000_000_000),
        ),
        (
            "error=\"llama runner process has terminated: cudaMalloc failed: out of memory\"\n",
            None,
        ),
        (
            "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests.\n",
            None,
        ),
        (
            "ncclUnhandledCudaError: Call to CUDA function failed. Last error: Cuda failure 2 'out of memory'\n",
            None,
        ),
        ("vk::Device::allocateMemory: ErrorOutOfDeviceMemory\n", None),
    ] {
        let reading = read(text.as_bytes());
        assert_eq!(reading.records.len(), 1, "{text}{reading:?}");
        let Report::Failure(failure) = &reading.records[0].report else {
            panic!("{reading:?}");
        };
        let bytes = failure.requested.as_ref().map(|figure| figure.bytes);
        assert_eq!(bytes, requested, "{text}");
        let conclusion = conclude(&reading.records[0]).unwrap();
        assert_eq!(
            conclusion.main().class,
            Class::Unknown,
            "{text}{conclusion:?}"
        );
    }
}

#[test]
fn a_list_that_is_cut_off_takes_nothing_from_the_next_error() {
    let cut = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 111289565184 bytes.\nBufferAssignment stats:\n    constant \
               allocation: 48.6KiB\n";
    let whole = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 6291456 bytes.\nBufferAssignment stats:\n    total \
                 allocation: 12.00MiB\n    total fragmentation: 0B (0.00%)\n";
    let reading = read(format!("{cut}{whole}").as_bytes());
    let allocated: Vec<_> = reading
        .records
        .iter()
        .map(|record| match &record.report {
            Report::Failure(failure) => failure.allocated.as_ref().map(|figure| figure.bytes),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(allocated, [None, Some(12 << 20)]);
}
