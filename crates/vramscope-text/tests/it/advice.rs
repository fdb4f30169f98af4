//! What is advised, by framework, device and version, and how certain a cause is called.

use vramscope_text::{Conclusion, Framework, Record, Sure, conclude, next_steps, read};

/// The first record of a text, and its conclusion.
fn first(text: &str) -> (Record, Conclusion) {
    let mut records = read(text.as_bytes()).records;
    let record = records.swap_remove(0);
    let conclusion = conclude(&record).unwrap();
    (record, conclusion)
}

/// An error of PyTorch's, in the wording since 2.1, with figures that leave little free.
fn error(api: &str) -> String {
    format!(
        "torch.OutOfMemoryError: {api} out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 100.00 MiB \
         is free. Of the allocated memory 22.50 GiB is allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.\n"
    )
}

#[test]
fn servers_are_no_training() {
    let error = error("CUDA");
    for (text, framework, command) in [
        (
            format!("(EngineCore_DP0 pid=8884) ERROR 10-31 15:15:48 [core.py:708] {error}"),
            Framework::Vllm,
            "vllm serve MODEL",
        ),
        (
            format!("(VllmWorker rank=1 pid=2978) ERROR [multiproc_executor.py:375] {error}"),
            Framework::Vllm,
            "vllm serve MODEL",
        ),
        (
            format!("Error occurred when executing SamplerCustom:\n\n{error}"),
            Framework::ComfyUi,
            "python main.py",
        ),
    ] {
        let (record, told) = first(&text);
        assert_eq!(record.framework, Some(framework), "{text}");
        let to_try = told.main().to_try.join(" ");
        assert!(to_try.contains(framework.name()), "{to_try}");
        assert!(!to_try.contains("activation checkpointing"), "{to_try}");
        let next = next_steps(&record, None);
        assert_eq!(next[0].0, format!("vramscope record -- {command}"));
    }
    let (record, told) = first(&error);
    assert_eq!(record.framework, None);
    assert!(told.main().to_try.concat().contains("checkpointing"));
    assert!(next_steps(&record, None)[0].0.ends_with("python train.py"));
}

#[test]
fn programs_without_torch_are_not_recorded_as_such() {
    for (text, framework) in [
        (
            "[TensorRT-LLM][ERROR] CUDA runtime error in ::cudaMallocAsync(ptr, n, mCudaStream->get()): out of memory (/app/tllmBuffers.h:112)\n",
            Framework::TensorRtLlm,
        ),
        (
            "ggml_metal_synchronize: error: command buffer 0 failed with status 5\nerror: Insufficient Memory \
             (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)\n",
            Framework::LlamaCpp,
        ),
        (
            "CUDA error: out of memory\n  current device: 1, in function alloc at /go/ollama/ollama/llm/llama.cpp/ggml-cuda.cu:233\n  \
             cudaMalloc((void **) &ptr, look_ahead_size)\n",
            Framework::Ollama,
        ),
        (
            "Out of memory error on GPU 0. Cannot allocate 6.9GB memory on GPU 0, available memory is only 726.7MB.\n",
            Framework::Paddle,
        ),
        (
            "error=\"llama runner process has terminated\"\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 9866.00 MiB on device 0: \
             cudaMalloc failed: out of memory\n",
            Framework::Ollama,
        ),
        (
            "[ONNXRuntimeError] : 6 : bfc_arena.cc:376 Failed to allocate memory for requested buffer of size 643840\n",
            Framework::OnnxRuntime,
        ),
        (
            "E tensorflow/stream_executor/cuda/cuda_driver.cc:1002] failed to allocate 190.31M (199557120 bytes) from device: \
             CUDA_ERROR_OUT_OF_MEMORY\n",
            Framework::TensorFlow,
        ),
    ] {
        let (record, _) = first(text);
        assert_eq!(record.framework, Some(framework), "{text}");
        let next = next_steps(&record, None);
        let is_capture = |line: &str| line.starts_with("vramscope-capture");
        assert!(next.iter().all(|(line, _)| is_capture(line)), "{next:?}");
    }
}

#[test]
fn processes_are_listed_by_the_devices_own_tool() {
    let others = "Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 100.00 MiB is free. Of the allocated memory \
                  1.50 GiB is allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.\n";
    for (api, tool) in [
        ("CUDA", "nvidia-smi"),
        ("HIP", "rocm-smi"),
        ("XPU", "xpu-smi"),
    ] {
        let (_, told) = first(&format!("{api} out of memory. {others}"));
        let to_try = told.main().to_try.join(" ");
        assert!(to_try.contains(tool), "{api}: {to_try}");
    }
}

/// Before torch 2.1 there were no expandable segments, and before 1.5 the message said `cached`.
#[test]
fn settings_are_those_of_the_version() {
    let figures = "(GPU 0; 7.79 GiB total capacity; 3.53 GiB already allocated; 0.40 GiB free;";
    let start = "CUDA out of memory. Tried to allocate 1.65 GiB";
    let sentences = ". GPU 0 has a total capacity of 7.79 GiB of which 409.60 MiB is free. Including non-PyTorch memory, this process has \
                     7.39 GiB memory in use. Of the allocated memory 3.53 GiB is allocated by PyTorch, and 3.40 GiB is reserved by PyTorch \
                     but unallocated.";
    for (rest, setting) in [
        (format!(" {figures} 3.40 GiB cached)"), "A newer torch"),
        (
            format!(" {figures} 6.93 GiB reserved in total by PyTorch)"),
            "max_split_size_mb:128",
        ),
        (
            sentences.to_owned(),
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, which",
        ),
    ] {
        let (_, told) = first(&format!("{start}{rest}\n"));
        let to_try = told.main().to_try.join(" ");
        assert!(to_try.contains(setting), "{rest}: {to_try}");
    }
}

#[test]
fn only_figures_are_called_figures() {
    for (text, how_sure) in [
        (
            "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n",
            "certain: the text says so",
        ),
        (
            "ggml_vulkan: Requested buffer size exceeds device buffer size limit: ErrorOutOfDeviceMemory\n",
            "certain: the text says so",
        ),
        (&error("CUDA"), "certain: it follows from the figures"),
    ] {
        assert_eq!(first(text).1.main().how_sure(), how_sure, "{text}");
    }
}

/// What the text does not say is no more than possible.
#[test]
fn what_may_be_otherwise_is_possible() {
    let (possible, untold) = ("possible, not certain", "the text does not say");
    for (text, how_sure) in [
        // The rest may have been held unused.
        (
            "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 5.00 GiB already allocated; 0 bytes free; 9.00 GiB \
             reserved in total by PyTorch)\n",
            possible,
        ),
        (
            "MPS backend out of memory (MPS allocated: 9.57 GiB, other allocations: 17.35 GiB, max allowed: 27.20 GiB). Tried to allocate 292.50 \
             MiB on private pool.\n",
            untold,
        ),
        (
            "ggml_cuda_host_malloc: failed to allocate 4096.00 MiB of pinned memory: out of memory\n",
            possible,
        ),
        (
            "[ONNXRuntimeError] : 6 : bfc_arena.cc:376 Failed to allocate memory for requested buffer of size 643840\n",
            untold,
        ),
    ] {
        let (_, told) = first(text);
        assert_eq!(told.main().how_sure(), how_sure, "{text}");
        assert_eq!(told.main().sure, Sure::Possible, "{text}");
        assert!(!told.main().is_said, "{text}");
    }
    let (_, told) = first(
        "CUDAExecutionProvider: Failed to allocate memory for requested buffer of size 643840\n",
    );
    assert!(!told.main().title.contains("computer"), "{told:?}");
    let (_, told) = first(
        "requires memory. Aborting compilation early because it's unlikely to have enough memory. Requires 3.84T, has 90.96G available.\n",
    );
    assert!(
        told.main().title.starts_with("The program needs"),
        "{told:?}"
    );
    let (_, told) = first("ValueError: x\n  exitcode : -9 (pid: 4242)\n");
    assert!(!told.main().is_said, "{told:?}");
}

/// At a limit, figures that only round to it are not certain.
#[test]
fn a_limit_is_certain_only_if_it_is_exceeded() {
    let error = |wanted: &str| {
        format!(
            "CUDA out of memory. Tried to allocate {wanted}. GPU 0 has a total capacity of 79.10 GiB of which 60.00 GiB is free. 10.00 GiB \
             allowed; Of the allocated memory 8.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.\n"
        )
    };
    assert_eq!(first(&error("1.00 GiB")).1.main().how_sure(), "likely");
    let (_, told) = first(&error("1.10 GiB"));
    assert_eq!(
        told.main().how_sure(),
        "certain: it follows from the figures"
    );
}

/// What neither belongs to PyTorch nor is free may be this process's own.
#[test]
fn others_are_not_blamed_for_what_the_process_may_hold() {
    let (_, told) = first(
        "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 23.70 GiB total capacity; 1.21 GiB already allocated; 6.69 MiB free; \
         1.22 GiB reserved in total by PyTorch)\n",
    );
    let cause = told.main();
    assert_eq!(cause.how_sure(), "possible, not certain");
    assert!(
        cause.title.contains("or by this process outside PyTorch"),
        "{}",
        cause.title
    );
}
