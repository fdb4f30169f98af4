//! Classes of frames, and folding.

use super::*;

#[test]
fn classes_of_frames_of_captured_programs() {
    use FrameClass::{Library, Runtime, User};
    let cases = [
        ("cuMemAllocAsync", "libcuda.so.1", Library),
        ("app::main", "/home/me/app/src/main.rs", User),
        (
            "cudarc::driver::result::malloc_async",
            "/home/me/.cargo/registry/src/index.crates.io-1/cudarc-0.19.10/src/driver/result.rs",
            Library,
        ),
        (
            "alloc::vec::Vec<T>::extend",
            "/rustc/0123/library/alloc/src/vec/mod.rs",
            Library,
        ),
        (
            "std::rt::lang_start::{{closure}}",
            "/rustc/0123/library/std/src/rt.rs",
            Runtime,
        ),
    ];
    for (name, filename, class) in cases {
        assert_eq!(classify(name, filename), class, "{name} in {filename}");
    }
}

/// Name, file and class.
const SEEN: &[(&str, &str, FrameClass)] = &[
    (
        "forward",
        "/root/KIVI/models/modeling_llama.py",
        FrameClass::User,
    ),
    ("train_start", "/home/me/train.py", FrameClass::User),
    ("forward", "D:\\Dev\\cs336\\model.py", FrameClass::User),
    (
        "_call_impl",
        "D:\\Dev\\.venv\\Lib\\site-packages\\torch\\nn\\modules\\module.py",
        FrameClass::Runtime,
    ),
    (
        "_call_impl",
        "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py",
        FrameClass::Runtime,
    ),
    ("_call_impl", "/home/me/model.py", FrameClass::User),
    ("pymain_main", "??", FrameClass::Runtime),
    ("run_mod.llvm.9196888086361497952", "", FrameClass::Runtime),
    ("__xmknodat", "??", FrameClass::Runtime),
    ("cublasCreate_v2", "??", FrameClass::Library),
    ("ncclAllReduce", "??", FrameClass::Library),
    ("main", "/home/me/app.c", FrameClass::User),
    (
        "at::_ops::mul_Tensor::redispatch(c10::DispatchKeySet)",
        "??",
        FrameClass::Runtime,
    ),
    (
        "at::(anonymous namespace)::wrapper_CUDA_mul_Tensor(at::Tensor const&)",
        "RegisterCUDA_0.cpp",
        FrameClass::Runtime,
    ),
    (
        "torch::autograd::generated::MmBackward0::apply(int)",
        "??",
        FrameClass::Library,
    ),
    ("_run_code", "<frozen runpy>", FrameClass::Library),
    ("<module>", "<string>", FrameClass::User),
    ("__init__", "<string>", FrameClass::Library),
    ("forward", "/tmp/ipykernel_123/456.py", FrameClass::User),
    (
        "torch/optim/adam.py(348): step",
        "none",
        FrameClass::Library,
    ),
    ("prof.py(4): step", "none", FrameClass::User),
    (
        "<built-in method randn of type object at 0x7f0cefebc100>",
        "none",
        FrameClass::Library,
    ),
    ("torch::unwind::unwind()", "??", FrameClass::Runtime),
    (
        "_PyEval_EvalFrameDefault",
        "/tmp/Python-3.11.1/Python/ceval.c",
        FrameClass::Runtime,
    ),
    ("_PyMem_SetupAllocators", "??", FrameClass::Runtime),
    ("PyDescr_IsData", "??", FrameClass::Runtime),
    (
        "slot_tp_call",
        "/usr/local/src/conda/python-3.12.3/Objects/typeobject.c",
        FrameClass::Runtime,
    ),
    (
        "at::_ops::mul_Tensor::call(at::Tensor const&)",
        "??",
        FrameClass::Library,
    ),
    (
        "torch::autograd::Engine::thread_main(...)",
        "??",
        FrameClass::Runtime,
    ),
    (
        "my_extension(at::Tensor)",
        "/home/me/ext/kernel.cu",
        FrameClass::User,
    ),
];

#[test]
fn classes_of_frames_seen_in_real_files() {
    for &(name, filename, class) in SEEN {
        assert_eq!(classify(name, filename), class, "{name} in {filename}");
    }
}

#[test]
fn folding_counts_runs() {
    let classes = FrameClasses {
        classes: vec![FrameClass::Runtime, FrameClass::Library, FrameClass::User],
    };
    let [runtime, library, user] = [FrameId(0), FrameId(1), FrameId(2)];
    let stack = [
        runtime, runtime, library, library, runtime, user, user, user, library,
    ];
    let rows = fold(stack, &classes, FoldOptions::default());
    let frame = |frame, class, times| FoldedRow::Frame {
        frame,
        class,
        times,
    };
    let expected = vec![
        FoldedRow::Runtime { hidden: 2 },
        frame(library, FrameClass::Library, 2),
        FoldedRow::Runtime { hidden: 1 },
        frame(user, FrameClass::User, 3),
        frame(library, FrameClass::Library, 1),
    ];
    assert_eq!(rows, expected);

    let first = fold(
        stack,
        &classes,
        FoldOptions {
            user_first: true,
            show_runtime: true,
        },
    )[0];
    assert_eq!(first, frame(user, FrameClass::User, 3));
}
