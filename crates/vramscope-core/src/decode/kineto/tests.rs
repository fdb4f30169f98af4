//! Tests of the parts of names; those of whole traces are in `tests/it/profiler.rs`.

use super::*;

#[test]
fn names_tell_places() {
    let python = Place::of("torch/nn/modules/linear.py(130): forward");
    let expected = ("forward", "torch/nn/modules/linear.py", 130);
    assert_eq!((&*python.function, python.file, python.line), expected);
    for (name, function) in [
        ("aten::addmm", "aten::addmm"),
        ("nn.Module: Linear_0", "nn.Module: Linear_0"),
        ("<built-in function linear>", "<built-in function linear>"),
        (
            "<built-in method to of Tensor object at 0x7f21c8d1a2b0>",
            "<built-in method to of Tensor object>",
        ),
        ("a(b): c", "a(b): c"),
        ("f at 0x7f", "f at 0x7f"),
    ] {
        let place = Place::of(name);
        assert_eq!(
            (&*place.function, place.file, place.line),
            (function, "", 0)
        );
    }
}
