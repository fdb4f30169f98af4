//! What is read from each form, to the byte, and where.

use vramscope_text::{Class, Report, Sure, conclude, next_steps, read, whole};

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
";
    let reading = read(text.as_bytes());
    let [smi, summary] = &reading.records[..] else {
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
}

#[test]
fn a_table_of_npu_smi_is_read() {
    let text = "
+---------------------------+---------------+----------------------------------------------------+
| npu-smi 24.1.rc2          | Version: 24   |
+===========================+===============+====================================================+
| 0     Ascend910           | OK            | 178.5       36                0    / 0             |
| 0     0                   | 0000:9D:00.0  | 0           0    / 0          3416 / 65536         |
+===========================+===============+====================================================+
| 7     Ascend910           | OK            | -           35                0    / 0             |
| 1     15                  | 0000:83:00.0  | 0           0    / 0          31877/ 65536         |
+===========================+===============+====================================================+
| NPU     Chip              | Process id    | Process name       | Process memory(MB)            |
+===========================+===============+====================================================+
| 7       1                 | 632268        | python3.1          | 197                           |
+------------------------------------------------------------------------------------------------+
";
    let reading = read(text.as_bytes());
    let Report::Devices(devices) = &reading.records[0].report else {
        panic!("{reading:?}");
    };
    assert_eq!(devices[0].used.bytes, 3416 << 20);
    // Large numbers touch the slash, and programs use the number behind the chip.
    assert_eq!(
        (devices[1].used.bytes, devices[1].device),
        (31877 << 20, 15)
    );
    assert_eq!(devices[1].processes[0].pid, 632_268);
}

#[test]
fn tables_without_their_head_are_read() {
    let smi = "Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
|===============================+======================+======================|
|   0  Tesla V100-SXM2...  On   | 00000000:00:08.0 Off |                    0 |
| N/A   54C    P0   246W / 300W |  15514MiB / 16130MiB |    100%      Default |
+-------------------------------+----------------------+----------------------+
";
    // Of two, each is read by itself.
    let reading = read(smi.repeat(2).replacen("15514", "15500", 1).as_bytes());
    assert_eq!(reading.records.len(), 2, "{reading:?}");
    let summary = "|=============||             PyTorch CUDA memory summary, device ID 0     |
|---------------------------------------------------------------------------|
| Allocated memory      |   26377 MB |   26988 MB |  767743 GB |  767717 GB |
";
    let reading = read(format!("{smi}\n{summary}").as_bytes());
    let [smi, summary] = &reading.records[..] else {
        panic!("{reading:?}");
    };
    assert!(matches!(&smi.report, Report::Devices(it) if it[0].used.bytes == 15514 << 20));
    assert!(matches!(&summary.report, Report::Summary(it) if it.device == Some(0)));
    let notes = vramscope_text::notes(&reading, &whole(&reading));
    assert!(notes[0].contains("25.8 GiB allocated"), "{notes:?}");
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
[Rank 4] (after 1 iterations) memory (MB) | allocated: 18598.75 | max allocated: 20931.01[Rank 9] (after 1 iterations) memory (MB) | allocated: 20034.75 | max allocated: 30227.64
[titan] - root - INFO - step:  7  loss:  4.84441  grad_norm: 17.2500  memory: 170.22GiB(95.44%)  tps: 10,917
[2023-02-22 14:30:21,080] [INFO] [utils.py:840:see_memory_usage] CPU Virtual Memory:  used = 72.17 GB, percent = 7.2%
[2025-07-02 07:41:58 TP3] Load weight end. type=DeepseekV3ForCausalLM, dtype=torch.bfloat16, avail mem=21.73 GB, mem usage=166.59 GB.
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
        "llama.cpp CUDA0 weights: 48928.09 MiB, 1 × 48928.09 MiB",
        "verl  in use on the device: 10.10 GB, 1 × 10.10 GB",
        "Megatron rank 4 allocated: 18598.75 MB, 1 × 18598.75 MB",
        "Megatron rank 9 allocated: 20034.75 MB, 1 × 20034.75 MB",
        "torchtitan  reserved at most: 170.22 GiB, 1 × 170.22 GiB",
        "DeepSpeed  of the computer's own memory in use: 72.17 GB, 1 × 72.17 GB",
        "SGLang TP3 weights: 166.59 GB, 1 × 166.59 GB",
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

/// torch's output if a driver does not report a process's memory.
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

/// Class, request and free memory of the first failure of a text, and how many there are; `None` if it has none.
fn first(text: &str) -> Option<(Class, Option<u64>, Option<u64>, usize)> {
    let reading = read(text.as_bytes());
    let record = reading.records.first()?;
    let (requested, free) = record.request();
    let bytes = |figure: Option<&vramscope_text::Figure>| figure.map(|figure| figure.bytes);
    let class = conclude(record)?.main().class;
    Some((class, bytes(requested), bytes(free), reading.records.len()))
}

/// Checks the first failure of each text: its class, and the requested and free bytes.
fn first_of_each<'a>(
    cases: impl IntoIterator<Item = (&'a str, (Class, Option<u64>, Option<u64>))>,
) {
    for (text, (class, requested, free)) in cases {
        assert_eq!(first(text), Some((class, requested, free, 1)), "{text}");
    }
}

#[test]
fn errors_of_tensorflow_jax_and_comfyui_are_read() {
    use Class::{HostMemory, TooMuchLive, Unknown};
    let tensor = 500 * 17 * 17 * 4032 * 4;
    first_of_each([
        (
            "ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[500,17,17,4032] and type float on \
             /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n",
            (Unknown, Some(tensor), None),
        ),
        (
            "step 1\nOOM when allocating tensor with shape[500,17] and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu\n",
            (HostMemory, None, None),
        ),
        (
            "OOM when allocating tensor with shape[100,4096,32]\n",
            (Unknown, None, None),
        ),
        (
            "2021-03-01 10:00:00.123: W tensorflow/core/common_runtime/bfc_allocator.cc:431] Allocator (GPU_0_bfc) ran out of memory trying to \
             allocate 2.50GiB (rounded to 2684354560)requested by op conv\n",
            (Unknown, Some(5 << 29), None),
        ),
        (
            "Attempting to connect to the TPU\nRESOURCE_EXHAUSTED: Attempting to reserve 18.00G at the bottom of memory. That was not possible. There are 15.00G free, 0B \
             reserved, and 15.00G reservable.\n",
            (TooMuchLive, Some(18 << 30), Some(15 << 30)),
        ),
        (
            "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 129.50M. That was not \
             possible. There are 78.17M free.; (0x0x0_HBM0)\n",
            (TooMuchLive, Some(259 << 19), Some(81_967_185)),
        ),
        // In pieces, perhaps.
        (
            "Error loading program: Attempting to allocate 1.25G. That was not possible. There are 2.50G free.; (0x0x0_HBM0)\n",
            (Unknown, Some(5 << 28), Some(5 << 29)),
        ),
        (
            "torch.OutOfMemoryError: Allocation on device \n\nGot an OOM, unloading all loaded models.\n",
            (Unknown, None, None),
        ),
        (
            "Got an OOM, unloading all loaded models.\n",
            (Unknown, None, None),
        ),
    ]);
    // TensorFlow itself says so.
    let no_failure = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.20GiB with freed_by_count=0. The caller indicates that this is \
                      not a failure, but may mean that there could be performance gains if more memory were available.\n";
    assert_eq!(first(no_failure), None);
}

#[test]
fn errors_of_other_frameworks_are_read() {
    use Class::{Limit, RequestTooLarge, Unknown};
    first_of_each([
        (
            "ggml_vulkan: Device memory allocation of size 3959422976 failed.\nggml_vulkan: vk::Device::allocateMemory: \
             ErrorOutOfDeviceMemory\nggml_gallocr_reserve_n: failed to allocate Vulkan0 buffer of size 3959422976\n",
            (Unknown, Some(3_959_422_976), None),
        ),
        (
            "ggml_gallocr_reserve_n_impl: failed to allocate CUDA0 buffer of size 8753520640\ngraph_reserve: failed to allocate compute buffers\n",
            (Unknown, Some(8_753_520_640), None),
        ),
        (
            "ValueError: The model's max seq len (4096) is larger than the maximum number of tokens that can be stored in KV cache (3664). Try \
             increasing\n",
            (RequestTooLarge, None, None),
        ),
        (
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n",
            (Limit, None, None),
        ),
        (
            "RuntimeError: Prefill out of memory. Try to lower your batch size.\nTry to allocate 2048 tokens.\nAvailable tokens: 148 (available_size=148 + \
             evictable_size=0)\n",
            (Limit, None, None),
        ),
        (
            "Out of memory. Try to lower your batch size.\nTry to allocate 168 tokens.\nAvaliable tokens: 32\n 0 [] r=1\n",
            (Unknown, None, None),
        ),
        (
            "Decode out of memory. Try to lower your batch size.\nTry to allocate 168 tokens.\nAvailable tokens: 3200 (available_size=3200 + \
             evictable_size=0)\n",
            (Unknown, None, None),
        ),
        (
            "RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number for `--max-running-requests`. \
             self.req_to_token_pool.available_size()=1, num_reqs=2,\n",
            (Limit, None, None),
        ),
        (
            "Out of memory error on GPU 0. Cannot allocate 512.000000MB memory on GPU 0, 7.9GB memory has been allocated and available memory is \
             only 143.0MB.\n",
            // Whoever has the rest: Paddle subtracts what is available from the device.
            (Unknown, Some(512 << 20), Some(143 << 20)),
        ),
        (
            "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : bfc_arena.cc:376 Failed to allocate memory for requested buffer of size 37748736\nAborted\n",
            (Unknown, Some(36 << 20), None),
        ),
        (
            "RuntimeError: CUDA out of memory. Tried to allocate more than 1EB memory.\n",
            (RequestTooLarge, None, None),
        ),
    ]);
}

#[test]
fn host_errors_have_their_names() {
    for text in [
        "ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 84940832\n",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=1234.0. Some of the step tasks have been OOM Killed.\n",
        "srun: error: node1: task 0: Out Of Memory\n",
        "State: OUT_OF_MEMORY (exit code 0)\n",
        "    Last State:     Terminated\n      Reason:       OOMKilled\n",
        "  exitcode : -9 (pid: 4242)\n",
        "  traceback : Signal 9 (SIGKILL) received by PID 4242\n",
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 2.98 GiB for an array with shape (20000, 20000) and data type float64\n",
        "OSError: [WinError 1455] The paging file is too small for this operation to complete. Error loading caffe2_detectron_ops.dll\n",
    ] {
        let class = first(text).map(|(class, ..)| class);
        assert_eq!(class, Some(Class::HostMemory), "{text}");
    }
}

#[test]
fn what_has_not_happened_is_no_failure() {
    for text in [
        "  File \"a.py\", line 3, in f\n    except MemoryError:\n",
        "    raise MemoryError('no')\n",
        "    print('CUDA error: out of memory')\n",
        "    if 'CUDA error: out of memory' in str(error):\n",
        "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT ***\nKilled\n",
    ] {
        assert_eq!(first(text), None, "{text}");
    }
}

/// llama.cpp reports what is free before it loads; XLA the total that a program needs.
#[test]
fn figures_are_called_what_they_are() {
    let text = "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA RTX) - 23871 MiB free\n\
                ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9866.00 MiB on device 0: cudaMalloc failed: out of memory\n\
                RESOURCE_EXHAUSTED: Out of memory while trying to allocate 6291456 bytes.\nBufferAssignment stats:\n    total allocation: \
                12.00MiB\n    total fragmentation: 0B (0.00%)\n";
    let reading = read(text.as_bytes());
    let labels: Vec<Vec<&str>> = reading
        .records
        .iter()
        .map(|record| match &record.report {
            Report::Failure(failure) => {
                let figures = failure.figures().into_iter();
                figures
                    .filter_map(|(_, label, figure)| figure.map(|_| label))
                    .collect()
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        labels,
        [
            vec!["requested", "free before the model was loaded"],
            vec!["requested", "needed in all"]
        ]
    );
    assert_eq!(reading.records[0].request().1, None);
}

/// Names of cards have parentheses of their own, AMD's devices are called ROCm, and the bus may follow.
#[test]
fn what_was_free_is_found_whatever_the_card_is_called() {
    for device in [
        "CUDA0 (NVIDIA RTX)",
        "CUDA0 (NVIDIA GeForce RTX 3090 (24 GB))",
        "CUDA0 (NVIDIA GeForce RTX 3090) (0000:01:00.0)",
        "ROCm0 (AMD Radeon RX 7900 XTX (RADV NAVI31))",
        "Vulkan0 (Intel(R) Iris(R) Xe Graphics)",
        "SYCL0 (Intel(R) Arc(TM) A770 Graphics)",
        "Metal (Apple M1)",
    ] {
        let name = device.split(' ').next().unwrap();
        let failed = match name {
            "CUDA0" | "ROCm0" => {
                "allocating 9866.00 MiB on device 0: cudaMalloc failed: out of memory".to_owned()
            }
            "Metal" => {
                "ggml_metal_buffer_init: error: failed to allocate buffer, size =  9866.00 MiB"
                    .to_owned()
            }
            name => format!(
                "ggml_gallocr_reserve_n: failed to allocate {name} buffer of size 10345250816\ngraph_reserve: failed"
            ),
        };
        let text = format!("using device {device} - 9000 MiB free\n{failed}\n");
        let reading = read(text.as_bytes());
        let Report::Failure(failure) = &reading.records[0].report else {
            panic!("{device}");
        };
        let free = failure.free.as_ref().map(|free| free.text.as_str());
        assert_eq!(free, Some("9000 MiB"), "{device}");
        let requested = failure.requested.as_ref().map(|figure| figure.bytes);
        assert_eq!(requested, Some(9866 << 20), "{device}");
        // A command that captures CUDA does not capture others.
        let steps = next_steps(&reading.records[0], None);
        assert_eq!(!steps.is_empty(), name == "CUDA0", "{device}");
    }
}

/// A buffer of the host or of an unknown device has nothing to do with a device's free memory.
#[test]
fn what_was_free_is_not_told_of_other_buffers() {
    let free_of = |buffer: &str| {
        let text = format!(
            "using device CUDA0 (NVIDIA RTX 4090) - 23871 MiB free\nusing device Vulkan0 (AMD) - 8000 MiB free\n\
             ggml_gallocr_reserve_n: failed to allocate {buffer} buffer of size 34359738368\ngraph_reserve: failed\n"
        );
        let reading = read(text.as_bytes());
        let failures = reading.records.iter().filter_map(|it| match &it.report {
            Report::Failure(failure) => Some(failure.free.is_some()),
            _ => None,
        });
        failures.collect::<Vec<_>>()
    };
    assert_eq!(free_of("CUDA0"), [true]);
    assert_eq!(free_of("CUDA_Host"), [false; 0]);
    assert_eq!(free_of("Vulkan_Host"), [false; 0]);
    assert_eq!(free_of("RPC[10.0.0.1:50052]"), [false]);
}

/// Of several devices, the free memory is that of the one that failed.
#[test]
fn what_was_free_is_that_of_the_device() {
    let text = "using device Vulkan0 (AMD Radeon RX 6800) - 16000 MiB free\n\
                using device Vulkan1 (AMD Radeon RX 5700 XT) - 8000 MiB free\n\
                load_tensors:      Vulkan0 model buffer size =  9000.00 MiB\n\
                load_tensors:      Vulkan1 model buffer size =  4000.00 MiB\n\
                load_tensors:   CPU_Mapped model buffer size =   500.00 MiB\n\
                ggml_vulkan: Device memory allocation of size 2166360064 failed.\n";
    let free = |text: &str| match &read(text.as_bytes()).records[0].report {
        Report::Failure(failure) => failure.free.as_ref().map(|free| free.text.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(free(text), None);
    let named = "ggml_gallocr_reserve_n: failed to allocate Vulkan1 buffer of size 2166360064\ngraph_reserve: failed\n";
    assert_eq!(free(&format!("{text}{named}")).as_deref(), Some("8000 MiB"));
    let usage = read(text.as_bytes()).usage;
    let weights: Vec<_> = usage
        .iter()
        .map(|it| (it.from.as_str(), it.last.bytes >> 20))
        .collect();
    assert_eq!(
        weights,
        [("Vulkan0", 9000), ("Vulkan1", 4000), ("CPU_Mapped", 500)]
    );
}

#[test]
fn a_limit_of_one_allocation_is_no_lack_of_memory() {
    use Class::Limit;
    let buffer =
        "failed to allocate Vulkan0 buffer of size 2166360064\nllama_init_from_model: failed\n";
    first_of_each([
        (
            format!(
                "ggml_vulkan: Device memory allocation of size 2166360064 failed.\nggml_vulkan: Requested buffer size exceeds device memory \
                 allocation limit: ErrorOutOfDeviceMemory\nggml_gallocr_reserve_n: {buffer}"
            )
            .as_str(),
            (Limit, Some(2_166_360_064), None),
        ),
        (
            format!(
                "ggml_vulkan: Requested buffer size exceeds device buffer size limit: ErrorOutOfDeviceMemory\n\
                 ggml_gallocr_reserve_n_impl: {buffer}"
            )
            .as_str(),
            (Limit, Some(2_166_360_064), None),
        ),
        (
            "ggml_vulkan: Requested buffer size exceeds device memory allocation limit: ErrorOutOfDeviceMemory\n",
            (Limit, None, None),
        ),
    ]);
}

/// Ranks on several computers have the same device numbers, so another process must be seen as well.
#[test]
fn ranks_on_one_device_are_odd() {
    let error = |rank: u64, others: &str| {
        format!(
            "[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of \
             which 1.00 GiB is free.{others} Including non-PyTorch memory, this process has 38.00 GiB memory in use.\n"
        )
    };
    let odd = |text: &str| whole(&read(text.as_bytes())).odd;
    let beside = " Process 77 has 40.00 GiB memory in use.";
    let found = odd(&(error(0, beside) + &error(1, beside)));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with(
            "rank 0, rank 1 failed on device 0, of which another process held 40.0 GiB."
        ),
        "{found:?}"
    );
    assert!(odd(&(error(0, "") + &error(8, ""))).is_empty());
    assert!(odd(&error(0, beside)).is_empty());
}

/// The title of the only conclusion about a text; empty if there is none.
fn title(text: &str) -> String {
    let reading = read(text.as_bytes());
    let titles = reading.records.iter().filter_map(conclude);
    let titles: Vec<_> = titles.map(|told| told.main().title.clone()).collect();
    assert!(titles.len() < 2, "{titles:?}");
    titles.concat()
}

#[test]
fn ray_kills_for_the_computers_memory() {
    let killed = "Ray killed a worker";
    let ray = "(raylet) node_manager.cc:3069: 1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node";
    assert!(title(ray).contains(killed));
    assert!(
        title(&ray.replace(" (tasks / actors) killed", " (tasks /\n actors) killed"))
            .contains(killed)
    );
    let crashed = ray
        .replace("1 Workers", "0 Workers")
        .replace(", 0 W", ", 1 W");
    assert_eq!(title(&crashed), "");
    let error =
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.";
    assert!(title(error).contains(killed));
}

#[test]
fn early_and_rare_messages_are_read() {
    let told = [
        (
            "I bfc_allocator.cc:696] Sum Total of in-use chunks: 7.23GiB\nW bfc_allocator.cc:275] Ran out of memory trying to allocate 8.00GiB.  See logs",
            "8.00 GiB",
        ),
        (
            "local_client.cc:672] Execution of replica 0 failed: Resource exhausted: Out \nof memory while trying to allocate 5520758552 bytes.",
            "5.14 GiB",
        ),
        (
            "E rocm_driver.cc:600] failed to allocate 890.06M (933298432 bytes) from device: HIP_ERROR_OutOfMemory",
            "890 MiB",
        ),
        (
            "ggml_metal_add_buffer: error: failed to allocate 'data            ' buffer, size = 19283.21 MiB",
            "18.8 GiB",
        ),
        (
            "error: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)",
            "Metal",
        ),
        (
            "Native API returns: -6 (PI_ERROR_OUT_OF_HOST_MEMORY) -6 (PI_ERROR_OUT_OF_HOST_MEMORY)",
            "computer's own memory",
        ),
    ];
    for (text, part) in told {
        let reading = read(text.as_bytes());
        assert_eq!(reading.records.len(), 1, "{text}");
        let told = conclude(&reading.records[0]).unwrap();
        let requested = reading.records[0].request().0;
        let requested =
            requested.map(|figure| vramscope_core::units::Bytes(figure.bytes).to_string());
        let words = format!(
            "{} {requested:?} {:?}",
            told.main().title,
            reading.records[0].report
        );
        assert!(words.contains(part), "{words}");
    }
}

#[test]
fn wrapped_lines_of_other_frameworks_tell_the_same() {
    let texts = [
        "2017-05-09 13:13:15: W tensorflow/core/common_runtime/bfc_allocator.cc:275] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.20GiB.",
        "ResourceExhaustedError: OOM when allocating tensor with shape[64,512,64,64] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator",
        "Out of memory error on GPU 0. Cannot allocate 3.621826GB memory on GPU 0, 21.184814GB memory has been allocated and available memory is only 2.814575GB.",
        "RuntimeError: [enforce fail at alloc_cpu.cpp:75] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 77309411328 bytes.",
        "ValueError: Free memory on device cuda:0 (19.77/22.05 GiB) on startup is less than desired GPU memory utilization (0.9, 19.84 GiB). Decrease it",
        "RuntimeError: DataLoader worker (pid 46794) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.",
        "(raylet) node_manager.cc:3069: 1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node x",
    ];
    let mut lost = Vec::new();
    for text in texts {
        let told = |text: &str| {
            let reading = read(text.as_bytes());
            let told = reading.records.iter().map(|record| {
                let class = conclude(record).map(|told| told.main().class);
                (class, record.request().0.map(|figure| figure.bytes))
            });
            told.collect::<Vec<_>>()
        };
        let whole = told(text);
        assert_eq!(whole.len(), 1, "{text}");
        for width in 80..160 {
            let lines: Vec<_> = text
                .as_bytes()
                .chunks(width)
                .map(String::from_utf8_lossy)
                .collect();
            if told(&lines.join("\n")) != whole {
                lost.push((width, &text[..30]));
            }
        }
    }
    assert!(lost.is_empty(), "{} {lost:?}", lost.len());
}

#[test]
fn the_next_line_is_no_part_of_a_number() {
    let buffer = "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 8753520640\n0.12.345.690 E llama_init\n";
    let reading = read(buffer.as_bytes());
    let requested = reading.records[0].request().0;
    assert!(requested.is_none_or(|figure| figure.bytes == 8_753_520_640));
    let rocm = "allocating 9866.00 MiB on device 0: cudaMalloc failed: out of memory\nalloc_tensor_range: failed to allocate ROCm0 buffer of size 10345250816\n";
    let reading = read(rocm.as_bytes());
    let Report::Failure(failure) = &reading.records[0].report else {
        panic!("{reading:?}");
    };
    assert_eq!(failure.api, vramscope_text::Api::Hip);
}

#[test]
fn figures_that_no_device_has_are_read() {
    let text = "Free memory on device cuda:0 (17179869184.00/22.05 GiB) on startup is less than desired GPU memory utilization (0.9, 19.84 GiB).";
    let told = read(text.as_bytes());
    let _told: Vec<_> = told.records.iter().map(conclude).collect();
    let little = "Out of memory error on GPU 0. Cannot allocate 2.0GB memory on GPU 0, 300.0MB memory has been allocated and available memory is only 1.0GB.";
    assert!(title(little).contains("does not say who had the rest"));
}

/// Torchtitan's own line is told, and no other program's; neither hides what follows.
#[test]
fn quantities_hide_no_failure_on_their_line() {
    let failure = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.00 GiB is free.";
    for (log, quantities) in [
        ("model: 14.2GiB(55%)", 0),
        ("memory: 14.2GiB(55%)", 0),
        ("step: 7 memory: 14.2GiB(55.00%) tps: 10,917 lr: 1e-4", 1),
    ] {
        let reading = read(format!("{{\"log\": \"{log}\\n{failure}\"}}\n").as_bytes());
        assert_eq!(reading.records.len(), 1, "{log}: {reading:?}");
        assert_eq!(reading.usage.len(), quantities, "{log}: {reading:?}");
    }
}

#[test]
fn two_errors_on_one_line_are_two() {
    let text = "{\"message\": \"CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.00 GiB is free.\\nCUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate\"}\n";
    assert_eq!(read(text.as_bytes()).records.len(), 2);
}

/// The figures of the first failure of a text, as printed, with their labels.
fn labelled(text: &str) -> String {
    let reading = read(text.as_bytes());
    let Report::Failure(failure) = &reading.records[0].report else {
        panic!("{reading:?}");
    };
    let figures = failure.figures().into_iter();
    let figures =
        figures.filter_map(|(_, label, figure)| Some(format!("{label} {}", figure?.text)));
    figures.collect::<Vec<_>>().join("; ")
}

#[test]
fn what_is_no_free_memory_of_the_device_is_not_called_so() {
    let budget = "(4.26 GiB KV cache is needed, which is larger than the available KV cache memory (4.25 GiB). Based";
    assert_eq!(
        labelled(budget),
        "requested 4.26 GiB; left for the KV cache 4.25 GiB"
    );
    let chip = "RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem. Used 32.42M of 16.00M vmem. Exceeded";
    assert_eq!(labelled(chip), "requested 32.42 M; in that memory 16.00 M");
    let start = "name: GeForce GTX 1080\nTotal memory: 7.92GiB\nFree memory: 190.31MiB\nE tensorflow/stream_executor/cuda/cuda_driver.cc:1002] \
                 failed to allocate 190.31M (199557120 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY\n";
    assert_eq!(
        labelled(start),
        "requested 199557120 bytes; free before the program took any 190.31 MiB; device 7.92 GiB"
    );
    let told = conclude(&read(start.as_bytes()).records[0]).unwrap();
    assert_eq!(told.main().sure, Sure::Possible);
    assert!(
        told.main()
            .explanation()
            .contains("again with a tenth less"),
        "{told:?}"
    );
    // Of two devices it is not known which one failed.
    let two = format!("Total memory: 7.92GiB\nFree memory: 7.31GiB\n{start}");
    assert_eq!(labelled(&two), "requested 199557120 bytes");
}

/// In a container PyTorch lists its own process among the others.
#[test]
fn the_only_process_that_can_be_this_one_is() {
    let error = |others: &str| {
        format!(
            "CUDA out of memory. Tried to allocate 786.00 MiB. GPU 0 has a total capacity of 79.11 GiB of which 140.75 MiB is free.{others} Of \
             the allocated memory 38.83 GiB is allocated by PyTorch, and 331.08 MiB is reserved by PyTorch but unallocated.\n"
        )
    };
    let own = labelled(&error(
        " Process 7 has 39.50 GiB memory in use. Process 8 has 39.40 GiB memory in use.",
    ));
    assert!(!own.contains("held by this process"), "{own}");
    let own = labelled(&error(
        " Process 7 has 41.50 GiB memory in use. Process 8 has 37.40 GiB memory in use.",
    ));
    assert!(own.ends_with("held by this process 41.50 GiB"), "{own}");
    // Another one may not be listed.
    let own = labelled(&error(" Process 7 has 39.50 GiB memory in use."));
    assert!(!own.contains("held by this process"), "{own}");
}

#[test]
fn one_event_is_counted_once() {
    for text in [
        "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\nAborted\n",
        "    raise ValueError(\"No available memory for the cache blocks. \"\nValueError: No available memory for the cache blocks. Try increasing\n",
        "rocm_driver.cc:601] failed to allocate 7.35G (7889485824 bytes) from device: hipError_t(1002)\n\
         rocm_driver.cc:601] failed to allocate 6.61G (7100536832 bytes) from device: hipError_t(1002)\n\
         rocm_driver.cc:601] failed to allocate 5.95G (6390482944 bytes) from device: hipError_t(1002)\n",
        "E tensorflow/cuda_driver.cc:806] failed to allocate 2.53G (2715310336 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n\
         E tensorflow/cuda_driver.cc:806] failed to allocate 2.28G (2443779328 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n",
        "W tensorflow/device_host_allocator.h:46] could not allocate pinned host memory of size: 34359738368\nE tensorflow/cuda_driver.cc:802] \
         failed to alloc 34359738368 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n",
    ] {
        let reading = read(text.as_bytes());
        let times: Vec<_> = reading.records.iter().map(|record| record.times).collect();
        assert_eq!(times, [1], "{text}");
    }
}

#[test]
fn little_more_than_the_request_is_no_limit() {
    let error = |free: &str, live: &str| {
        format!(
            "HIP out of memory. Tried to allocate 124.00 MiB. GPU 0 has a total capacity of 19.94 GiB of which {free} is free. Of the allocated \
             memory {live} is allocated by PyTorch, and 165.29 MiB is reserved by PyTorch but unallocated.\n"
        )
    };
    let class = |text: &str| first(text).map(|(class, ..)| class);
    assert_ne!(class(&error("554.47 MiB", "15.87 GiB")), Some(Class::Limit));
    assert_eq!(class(&error("5.47 GiB", "12.87 GiB")), Some(Class::Limit));
    let reading = read(error("554.47 MiB", "15.87 GiB").as_bytes());
    let told = conclude(&reading.records[0]).unwrap().main().explanation();
    assert!(
        told.contains("554 MiB free, more than the request"),
        "{told}"
    );
}

#[test]
fn further_refusals_are_read() {
    use Class::{HostMemory, Limit, OtherProcesses, RequestTooLarge, Unknown};
    first_of_each([
        (
            "AssertionError: Error in memory profiling. Initial free memory 82.94 GiB,\ncurrent free memory 90.17 GiB. This happens when\n",
            (OtherProcesses, None, None),
        ),
        (
            "AssertionError: Error in memory profiling. Initial free memory 23371251712, current free memory 23455137792. This happens\n",
            (OtherProcesses, None, None),
        ),
        (
            "Compilation failure: Aborting compilation early because it's unlikely to have enough memory. Requires 3.84T, has 90.96G available.\n",
            (
                RequestTooLarge,
                Some(4_222_124_650_659),
                Some(97_667_556_311),
            ),
        ),
        (
            "RuntimeError: Current platform can NOT allocate memory block with size larger than 4GB! Tried to allocate 6.50 GiB (GPU  0; \
             15.56 GiB total capacity; 0 bytes already allocated; 0 bytes reserved in total by PyTorch)\n",
            (Limit, Some(13 << 29), None),
        ),
        (
            "Failed to allocate memory for requested buffer of size 4585490524328388608\n",
            (RequestTooLarge, Some(4_585_490_524_328_388_608), None),
        ),
        (
            "Failed to allocate memory for requested buffer of size 45854905",
            (Unknown, None, None),
        ),
        (
            "RuntimeError: CUDA out of memory occurred when warming up sampler with 256 dummy requests. Please try lowering `max_num_seqs`\n",
            (Unknown, None, None),
        ),
        (
            "Error: model requires more system memory (164.5 GiB) than is available (13.4 GiB)\n",
            (HostMemory, Some(329 << 29), None),
        ),
        (
            "CPU memory allocation failed n=8055160832 align=32\nterminate called after throwing an instance of 'dynet::out_of_memory'\n",
            (HostMemory, Some(8_055_160_832), None),
        ),
    ]);
}

/// llama.cpp names the buffer on two lines. The first is enough, also without its size.
#[test]
fn a_buffer_of_the_cpu_has_its_size() {
    let line =
        "ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 84940832";
    let next = "\nggml_gallocr_reserve_n: failed to allocate CPU buffer of size 84940800\n";
    let cut = line.split_once(" of size").unwrap().0;
    for (text, size) in [
        (line.to_owned() + next, Some(84_940_832)),
        (line.to_owned(), None),
        (cut.to_owned(), None),
    ] {
        assert_eq!(
            first(&text).unwrap(),
            (Class::HostMemory, size, None, 1),
            "{text}"
        );
    }
}
