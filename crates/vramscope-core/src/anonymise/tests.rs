//! What becomes of single names; whole files are in the crate's integration tests.

use super::Anonymiser;
use crate::transfer::{Rename, Role};

/// Hashes become `*`, so that a test shows what is kept.
fn starred(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('_') {
        let is_hash = |letter: char| "bcdfghjklmnpqrst".contains(letter);
        let kinds = ["dir", "file", "fn", "name", "code"];
        let kind = kinds.iter().find(|kind| before.ends_with(**kind));
        match (kind, after.get(..10)) {
            (Some(kind), Some(hash)) if hash.chars().all(is_hash) => {
                out.push_str(&before[..before.len() - kind.len()]);
                out.push('*');
                rest = &after[10..];
            }
            _ => {
                out.push_str(before);
                out.push('_');
                rest = after;
            }
        }
    }
    out + rest
}

fn path(path: &str) -> String {
    starred(&Anonymiser::salted("").path(path).text)
}

fn frame(name: &str, file: &str) -> String {
    starred(&Anonymiser::salted("").frame(name, file)[0])
}

fn label(text: &str) -> String {
    starred(&Anonymiser::salted("").text(Role::Label, text))
}

#[test]
fn own_paths_are_hashed_and_public_ones_kept() {
    for (original, expected) in [
        ("/home/alice/secret/train.py", "/home/*/*/*.py"),
        ("D:\\Dev\\model.py", "D:\\*\\*.py"),
        (
            "/home/alice/.venv/lib/python3.12/site-packages/torch/nn/modules/linear.py",
            "/home/*/.venv/lib/python3.12/site-packages/torch/nn/modules/linear.py",
        ),
        (
            "/venv/lib/python3.12/site-packages/secret/__init__.py",
            "/venv/lib/python3.12/site-packages/*/__init__.py",
        ),
        (
            "/usr/lib/python3.12/threading.py",
            "/usr/lib/python3.12/threading.py",
        ),
        (
            "C:\\Python311\\Lib\\runpy.py",
            "C:\\Python311\\Lib\\runpy.py",
        ),
        (
            "/secret/Python-3.11.1/Objects/call.c",
            "/*/Python-3.11.1/Objects/call.c",
        ),
        (
            "/alice/pytorch/aten/src/ATen/x.cpp",
            "/*/pytorch/aten/src/ATen/x.cpp",
        ),
        ("/alice/pytorch/secret/x.py", "/*/*/*/*.py"),
        ("torch/optim/adam.py", "torch/optim/adam.py"),
        ("./csu/../csu/libc-start.c", "./csu/../csu/libc-start.c"),
        (
            "/tmp/torchinductor_alice/ab/cab.py",
            "/tmp/torchinductor_*/*/*.py",
        ),
        ("/tmp/ipykernel_17/99.py", "/tmp/ipykernel_*/*.py"),
        ("<string>", "<string>"),
        ("<frozen runpy>", "<frozen runpy>"),
        ("<frozen secret>", "<frozen *>"),
        ("<eval_with_key>.3", "<eval_with_key>.3"),
        ("<eval_with_key>.secret", "<*>"),
        ("<ipython-input-3-0a1b>", "<ipython-input-*>"),
        ("secret", "*"),
        ("??", "??"),
        ("", ""),
    ] {
        assert_eq!(path(original), expected);
    }
}

#[test]
fn own_functions_are_hashed_and_public_ones_kept() {
    let own = "/home/alice/train.py";
    for (name, file, expected) in [
        ("attend", own, "*"),
        (
            "Model.attend.<locals>.<lambda>",
            own,
            "*.*.<locals>.<lambda>",
        ),
        ("forward", own, "forward"),
        ("_PySecret", own, "*"),
        (
            "_call_impl",
            "/x/site-packages/torch/nn/modules/module.py",
            "_call_impl",
        ),
        ("_PyEval_EvalFrameDefault", "??", "_PyEval_EvalFrameDefault"),
        ("__Pyx_RaiseError", "/home/alice/k.c", "__Pyx_RaiseError"),
        (
            "at::native::empty(long, bool)",
            "??",
            "at::native::empty(long, bool)",
        ),
        (
            "secret::Kernel::run(at::Tensor const&, alice*)",
            "??",
            "*::*::*(at::Tensor const&, **)",
        ),
        (
            "std::vector<secret::Row>::push_back(secret::Row&&)",
            "/x/site-packages/torch/include/x.h",
            "std::vector<*::*>::push_back(*::*&&)",
        ),
        (
            "torch/optim/adam.py(348): step_impl",
            "none",
            "torch/optim/adam.py(348): step_impl",
        ),
        ("prof.py(4): attend", "none", "*.py(4): *"),
        ("nn.Module: Secret_0", "none", "nn.Module: *_0"),
        (
            "<built-in method add_ of Tensor object at 0x7f0000000000>",
            "none",
            "<built-in method add_ of Tensor object at 0x7f0000000000>",
        ),
        (
            "<built-in method attend of module object at 0x7f>",
            "none",
            "<built-in method * of *>",
        ),
        (
            "<built-in function attend>",
            "none",
            "<built-in function *>",
        ),
    ] {
        assert_eq!(frame(name, file), expected, "{name}");
    }
}

#[test]
fn labels_keep_what_tells_steps() {
    for (original, expected) in [
        ("ProfilerStep#3", "ProfilerStep#3"),
        ("alice_step 12", "*_step 12"),
        ("Optimizer.step#AdamW.step", "Optimizer.step#AdamW.step"),
        ("Optimizer.step#Secret.step", "Optimizer.step#*.step"),
        ("Torch-Compiled Region: 0/0", "Torch-Compiled Region: 0/0"),
        ("N/A", "N/A"),
        (
            "{\"phase\":\"forward\",\"layer\":3}",
            "{\"phase\":\"forward\",\"*\":3}",
        ),
        ("phone 491701234567", "* *"),
        ("é東", "*"),
        ("optimizer_state", "optimizer_state"),
    ] {
        assert_eq!(label(original), expected);
    }
}

#[test]
fn formatted_stacks_keep_their_form() {
    let original =
        "  File \"/home/alice/x.py\", line 3, in attend\n    secret(1)\n  File train.py, line 4\n";
    let trace = Anonymiser::salted("")
        .text(Role::Trace, original)
        .into_owned();
    let expected = "  File \"/home/*/*.py\", line 3, in *\n    *\n  File \"*.py\", line 4\n";
    assert_eq!(starred(&trace), expected);
}

#[test]
fn settings_keep_the_allocators_words() {
    let anonymiser = Anonymiser::salted("");
    let original = "expandable_segments:True,roundup_power2_divisions:[256:1,>:4],alice:secret";
    let expected = "expandable_segments:True,roundup_power2_divisions:[256:1,>:4],*:*";
    assert_eq!(starred(&anonymiser.setting(original)), expected);
}

#[test]
fn hashes_depend_on_kind_name_and_key() {
    let (one, other) = (Anonymiser::salted("one"), Anonymiser::salted("other"));
    assert_eq!(one.tag("fn", "x"), Anonymiser::salted("one").tag("fn", "x"));
    assert_ne!(one.tag("fn", "x"), other.tag("fn", "x"));
    assert_ne!(one.tag("fn", "x"), one.tag("fn", "y"));
    assert_ne!(one.tag("fn", "x")[2..], one.tag("dir", "x")[3..]);
}
