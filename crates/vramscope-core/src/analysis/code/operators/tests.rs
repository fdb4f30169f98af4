//! Operators of stacks from real files, shortened to the frames that matter.

use super::*;
use crate::analysis::code::frames::classify;

/// The allocator's frames and a factory of tensors, which begin almost every stack.
const MALLOC: [&str; 3] = [
    "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc(void**, signed char)",
    "at::detail::empty_generic(c10::ArrayRef<long>, c10::Allocator*)",
    "at::(anonymous namespace)::create_out(c10::ArrayRef<long>, c10::TensorOptions const&)",
];
const EMPTY: &str = "at::_ops::empty_strided::redispatch(c10::DispatchKeySet, c10::ArrayRef<long>)";

/// The label of a stack of C++ frames, innermost first, called from `python` as (function, file).
fn label_of(native: &[&str], python: &[(&str, &str)]) -> String {
    let mut names = Names::default();
    let native = native.iter().map(|&name| (name, ""));
    let frames = MALLOC.iter().map(|&name| (name, "")).chain(native);
    let parts: Vec<Part> = frames
        .chain(python.iter().copied())
        .map(|(function, file)| {
            let location = Location {
                function,
                file,
                line: 7,
            };
            part(&location, classify(function, file), &mut names)
        })
        .collect();
    names.label(find(parts.into_iter()))
}

const MODEL: (&str, &str) = ("forward", "/home/me/model.py");

/// Frames of C++, innermost first, and the label.
const NAMED: &[(&[&str], &str)] = &[
    (
        &[
            "c10::impl::wrap_kernel_functor_unboxed_<c10::impl::detail::WrapFunctionIntoFunctor_<int>>::call(int)",
            "at::_ops::addmm::call(at::Tensor const&)",
            "torch::autograd::THPVariable_addmm(_object*, _object*)",
        ],
        "addmm",
    ),
    (
        &[
            EMPTY,
            "at::_ops::_softmax::redispatch(int)",
            "at::_ops::softmax_int::call(at::Tensor const&)",
            "at::_ops::_scaled_dot_product_attention_math::call(int)",
            "at::_ops::scaled_dot_product_attention::call(int)",
        ],
        "softmax in scaled_dot_product_attention (math backend)",
    ),
    (
        &[
            EMPTY,
            "at::_ops::empty_like::call(int)",
            "at::native::_flash_attention_forward(int)",
            "at::_ops::_scaled_dot_product_flash_attention::call(int)",
            "at::_ops::scaled_dot_product_attention::call(int)",
        ],
        "scaled_dot_product_attention (flash backend)",
    ),
    (
        &[
            EMPTY,
            "at::_ops::_to_copy::call(at::Tensor const&)",
            "at::_ops::to_dtype::call(at::Tensor const&)",
            "at::autocast::cached_cast(c10::ScalarType, at::Tensor const&)",
            "at::_ops::einsum::call(int)",
        ],
        "to in einsum (autocast)",
    ),
    (
        &[
            "at::cuda::getNewWorkspace()",
            "at::cuda::getCurrentCUDABlasHandle()",
            "at::_ops::bmm::call(int)",
            "at::_ops::einsum::call(int)",
        ],
        "cuBLAS workspace in einsum",
    ),
    (
        &[
            "at::native::resize_cuda_(int)",
            "at::_ops::resize_::call(int)",
            "at::native::where_self_out(int)",
            "at::_ops::where_self::redispatch(int)",
            "at::_ops::where_ScalarOther::call(int)",
        ],
        "where",
    ),
    (&["at::_ops::sum_dim_IntList::call(int)"], "sum"),
    (
        &[EMPTY, "torch::autograd::THPVariable_empty(_object*)"],
        "empty",
    ),
    (&[EMPTY, "rms_norm(at::Tensor&, at::Tensor&)"], "rms_norm"),
    (
        &["op_api::npu_rotary_mul(at::Tensor const&)"],
        "npu_rotary_mul",
    ),
    (
        &[
            "at::_ops::bmm::call(int)",
            "torch::autograd::generated::BmmBackward0_apply_functional(int)",
            "torch::autograd::generated::BmmBackward0::apply(std::vector<at::Tensor>&&)",
            "torch::autograd::Engine::evaluate_function(int)",
            "at::_ops::never_reached::call(int)",
        ],
        "BmmBackward0",
    ),
    (
        &[
            "at::_ops::mul_Tensor::call(int)",
            "torch::autograd::generated::DivBackward0::apply(std::vector<at::Tensor>&&)",
        ],
        "mul in DivBackward0",
    ),
    (
        &[
            EMPTY,
            "at::_ops::_to_copy::call(int)",
            "torch::autograd::generated::ToCopyBackward0::apply(int)",
        ],
        "ToCopyBackward0",
    ),
    (
        &[
            EMPTY,
            "at::_ops::new_empty_strided::call(int)",
            "torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)",
        ],
        "AccumulateGrad",
    ),
    (
        &[
            "at::_ops::sum_dim_IntList::call(int)",
            "torch::autograd::InputMetadata::reduce_grad(at::Tensor&) const",
            "torch::autograd::Engine::evaluate_function(int)",
        ],
        "sum in autograd engine",
    ),
    (&[], ""),
];

#[test]
fn an_operator_is_named_by_what_made_the_bytes_and_what_was_called() {
    for &(native, label) in NAMED {
        assert_eq!(label_of(native, &[MODEL]), label);
    }
}

#[test]
fn without_frames_of_c_torchs_python_function_is_the_operator() {
    let of = |function, file| label_of(&[], &[(function, file), MODEL]);
    for (function, file, label) in [
        (
            "linear",
            "/v/site-packages/torch/nn/functional.py",
            "linear",
        ),
        (
            "_max_pool2d",
            "/v/site-packages/torch/nn/functional.py",
            "max_pool2d",
        ),
        (
            "_multi_tensor_adam",
            "D:\\v\\Lib\\site-packages\\torch\\optim\\adam.py",
            "optim.adam._multi_tensor_adam",
        ),
        (
            "convert",
            "/v/site-packages/torch_npu/utils/_module.py",
            "torch_npu.utils._module.convert",
        ),
        ("call", "/tmp/torchinductor_me/ab/cab.py", "torch.compile"),
        ("rearrange", "/v/site-packages/einops/einops.py", ""),
        ("block", "/home/me/model.py", ""),
    ] {
        assert_eq!(of(function, file), label, "{function} {file}");
    }
    let compiled = ("call", "/tmp/torchinductor_me/ab/cab.py");
    assert_eq!(
        label_of(&[EMPTY], &[compiled]),
        "empty_strided in torch.compile"
    );
}

#[test]
fn what_is_beyond_the_interpreter_is_not_the_operators() {
    let native = [
        "at::_ops::add_Tensor::call(int)",
        "torch::autograd::THPVariable_add(_object*)",
        "PyNumber_Add",
        "at::_ops::outer::call(int)",
    ];
    assert_eq!(label_of(&native, &[MODEL]), "add");
}

#[test]
fn hostile_names_are_no_harm() {
    let long = format!("at::_ops::{}::call", "x".repeat(9_999));
    assert!(label_of(&[&long], &[]).len() <= NAME_LIMIT_BYTES);
    for name in [
        "at::_ops::",
        "at::_ops::_out",
        "at::_ops::\u{e9}_\u{e9}",
        "_",
        "::",
        "(",
        "torch::autograd::apply(",
    ] {
        label_of(&[name], &[]);
    }
}
