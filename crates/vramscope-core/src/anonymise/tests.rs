//! Replacements of single names; whole files are in the crate's integration tests.

use super::{Anonymiser, Kind, Pattern, RULES, public};
use crate::transfer::{Rename, Role};

/// Replaces hashes by `*`, so that a test shows what is kept.
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
            "/usr/lib/python3.11/lib-dynload/_bisect.cpython-311-x86_64-linux-gnu.so",
            "/usr/lib/python3.11/lib-dynload/_bisect.cpython-311-x86_64-linux-gnu.so",
        ),
        ("/usr/lib/python3.780.511/os.py", "/usr/lib/*/*.py"),
        (
            "/secret/Python-3.11.1/Objects/call.c",
            "/*/Python-3.11.1/Objects/call.c",
        ),
        (
            "/alice/pytorch/aten/src/ATen/x.cpp",
            "/*/pytorch/aten/src/ATen/x.cpp",
        ),
        ("/alice/pytorch/secret/x.py", "/*/pytorch/*/*.py"),
        ("torch/optim/adam.py", "torch/optim/adam.py"),
        (
            "/usr/lib/python3.12/json/./decoder.py",
            "/usr/lib/python3.12/json/./decoder.py",
        ),
        (
            "/opt/site-packages/decorator.py",
            "/opt/site-packages/decorator.py",
        ),
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

/// One of the user's own files.
const OWN: &str = "/home/alice/train.py";

/// Functions with their files, and their replacements.
const FUNCTIONS: [(&str, &str, &str); 18] = [
    ("attend.part.3", "/home/alice/k.c", "*.part.3"),
    ("attend", OWN, "*"),
    (
        "Model.attend.<locals>.<lambda>",
        OWN,
        "*.*.<locals>.<lambda>",
    ),
    ("forward", OWN, "forward"),
    ("_PySecret", OWN, "*"),
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
        "std::vector<c10::IValue>::~vector()",
        "??",
        "std::vector<c10::IValue>::~vector()",
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
        "<built-in method add_ of Tensor object at 0x*>",
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
];

#[test]
fn own_functions_are_hashed_and_public_ones_kept() {
    for (name, file, expected) in FUNCTIONS {
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
            "{\"phase\":\"forward\",\"layer\":3}",
        ),
        ("phone 491701234567", "* *"),
        ("step 12/100, rank 3", "step 12/100, rank 3"),
        ("layer3 epoch_120000", "layer3 epoch_120000"),
        ("aten::addmm 3", "aten::addmm 3"),
        ("c10d::allreduce_", "c10d::allreduce_"),
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

#[test]
fn rules_hold_as_their_examples_say() {
    for rule in RULES {
        for &(kind, original, expected) in rule.examples {
            let got = match kind {
                Kind::File => path(original),
                Kind::Function => frame(original, "??"),
                Kind::Label => label(original),
                Kind::Setting => starred(&Anonymiser::salted("").setting(original)),
            };
            assert_eq!(got, expected, "{}", rule.name);
        }
    }
}

#[test]
fn words_that_count_are_named_by_their_rule() {
    let rule = RULES.iter().find(|rule| rule.name == "Numbers").unwrap();
    let said = rule.stays.replace("(s)", "").to_lowercase();
    for word in public::COUNTING.to_lowercase().split(' ') {
        let singular = word.strip_suffix('s').unwrap_or(word);
        assert!(said.contains(singular), "{word}");
    }
}

#[expect(clippy::too_many_lines, reason = "a list")]
#[test]
fn places_that_only_look_public_are_hashed() {
    for file in [
        "torch/acme_secret_model.py",
        "torch\\acme_secret.py",
        "torch/nn/acme_secret/linear.py",
        "/home/al/torch/acme_secret.py",
        "/repo/pytorch/torch/acme_secret.py",
        "/repo/examples/pytorch/build/acme_secret.py",
        "/x/pytorch/third_party/acme_secret/k.cu",
        "/opt/lib/python3.11/acme_secret/model.py",
        "/opt/lib/python3/acme_secret.py",
        "/opt/lib/python3.11/json/../acme_secret.py",
        "/usr/lib/python3.11/../../acme_secret.py",
        "/usr/lib/python3.11/lib-dynload/acme_secret.so",
        "/usr/lib/python3.11/lib-dynload/_bisect.cpython-3acme_secret.so",
        "/usr/lib/python3.11/lib-dynload/_bisect.cpython-311-acme_secret.so",
        "/usr/lib/python3.780.511/acme_secret.py",
        "/usr/lib/python3.11/dist-packages/acme_secret/x.py",
        "/u/site-packages/torch/../../acme_secret/x.py",
        "/u/site-packages/torch/b/site-packages/acme_secret/x.py",
        "/u/site-packages/torch-acme_secret/x.py",
        "/usr/lib/python30780511200/json/acme_secret.py",
        "C:\\py\\Python311\\Lib\\acme_secret.py",
        "/a/libstdc++-v3/acme_secret.py",
        "./misc/acme_secret.c",
        "../elf/acme_secret.c",
        "/b/Python-3.11/acme_secret.py",
        "/b/Python-3.11/Objects/acme_secret.c",
        "/b/python-split_acme_secret/Objects/call.c",
        "conda-acme_secret/x.py",
        "/usr/lib/python3.12/this/acme_secret.py",
        "/usr/lib/python3.12/threading.py/acme_secret.py",
        "/usr/lib/python3.12/_bisect.cpython-312.so/acme_secret.py",
        "/opt/site-packages/torch.py/acme_secret.py",
        "/opt/site-packages/decorator/acme_secret.py",
        "/opt/site-packages/torch/nn.py/acme_secret.py",
        "/opt/site-packages/torch/%2e%2e/acme_secret.py",
        "/opt/site-packages/numpy/x.py?token=acme_secret",
        "https://host/site-packages/numpy/x.py?token=acme_secret",
        "/opt/site-packages/numpy/x.py#acme_secret",
        "/opt/site-packages/numpy/x.py;acme_secret",
        "/opt/site-packages/numpy/x.py\nacme_secret",
        "/opt/site-packages/numpy/x acme_secret",
        "/opt/site-packages/numpy/x.acme_secret",
        "/opt/site-packages/nvidia/acme_secret/x.py",
        "/usr/lib/python3.12/json/acme_secret/x.py",
        "/usr/lib/python3.12/encodings/acme_secret.py",
        "/opt/site-packages/torch/%2E./acme_secret.py",
        "/opt/site-packages/torch/.../acme_secret.py",
        "/opt/site-packages/torch\\.. \\acme_secret.py",
        "/usr/lib/python3.12/json/.../acme_secret.py",
        "<frozen acme_secret>",
        "<ipython-input-3-acme_secret>",
        "<eval_with_key>.acme_secret",
    ] {
        assert!(!path(file).contains("acme"), "{file}: {}", path(file));
        let function = frame("acme_secret", file);
        // In a public file all functions stay; of these only the folder above is private.
        let is_in_public = file.ends_with("Objects/call.c");
        assert!(is_in_public || function == "*", "{file}: {function}");
    }
    for file in [
        "queue.py",
        "<frozen runpy>",
        "<string>",
        "torch/nn/modules/linear.py",
    ] {
        assert_eq!(path(file), file);
        assert_eq!(frame("acme_secret", file), "*", "{file}");
    }
}

#[test]
fn names_that_only_look_public_are_hashed() {
    for name in [
        "PyInit_acme_secret",
        "PyAcme_secret",
        "_PyAcmeSecret",
        "THPAcmeSecret",
        "cudnnAcmeSecret",
        "cudaAcmeSecret",
        "pthread_acme_secret",
        "wrap_call_acme_secret",
        "cfunction_acme_secret",
        "torch::acme_secret::Op",
        "at::native::acme_secret_kernel(int)",
        "std::acme_secret",
        "void cutlass::acme_secret<int>()",
        "torch::autograd::CppNode<acme_secret::F>::apply(x)",
        "auto torch::jit::(anonymous namespace)::acme_secret::{lambda(acme_secret)#1}",
        "operator acme_secret()",
        "acme_secret::torch::x",
        "torch.acme_secret.run",
        "torch.ops.acme_secret.run",
        "<built-in method acme_secret of Tensor object at 0x7f>",
        "<built-in method add of Tensor object at 0xacme_secret>",
        "queue.py(3): acme_secret",
        "torch/nn/modules/linear.py(3): acme_secret",
        "x.py(3): 10.20.30.40",
    ] {
        let got = frame(name, "");
        let left = ["acme", "Acme", "secret", "Secret", "20"];
        assert!(!left.iter().any(|word| got.contains(word)), "{name}: {got}");
    }
}

/// Addresses, dates, phone numbers, card numbers and the like, also where C++ names are expected.
#[test]
fn numbers_that_can_identify_are_hashed() {
    for text in [
        "10.20.30.40",
        "078-05-1120",
        "4111-1111-1111-1111",
        "4111 1111 1111 1111",
        "4111, 1111, 1111, 1111",
        "+49 170 1234567",
        "(555) 123-4567",
        "2024-05-01",
        "12/31/1999",
        "12345",
        "123456789",
        "550e8400-e29b-41d4-a716-446655440000",
        "00:1a:2b:33:44:55",
        "fe80::1234:5678",
        "acct:1234",
        "12-al",
        "al-12",
        "v1.2",
        "x1234",
        "step 078-05-1120",
        "step 12345678",
        "step 4911512/3456789",
        "call it 5551234",
        "aten::4111",
        "aten::4111 1111 1111 1111",
        "aten::f<4111 1111 1111 1111>",
        "rank 10.20.30.40",
        "layer12345678",
        "4111..1111..1111..1134",
        "a.4111.b.1111.c.1111.d.1152",
        "a.4111.isra.b.1111.part",
        "john.1985",
        ".isra.1985",
        "isra.1985",
        "a.isra.12345",
    ] {
        for got in [label(text), frame(text, "??"), frame(text, "/x/y.py")] {
            let digits = got
                .replace("0x", "")
                .bytes()
                .filter(u8::is_ascii_digit)
                .count();
            assert_eq!(digits, 0, "{text}: {got}");
        }
    }
}

#[test]
fn what_the_user_keeps_stays() {
    let keep = ["/repo/*", "acme_attend", "acme run *"].map(Pattern::from);
    let anonymiser = Anonymiser::salted("").keeping(keep.to_vec());
    let frame = |name: &str, file: &str| {
        let [name, file] = anonymiser.frame(name, file);
        (starred(&name), starred(&file))
    };
    let stays = ("acme_f".to_owned(), "/repo/acme/x.py".to_owned());
    assert_eq!(frame("acme_f", "/repo/acme/x.py"), stays);
    let own = ("acme_attend".to_owned(), "/home/*/*.py".to_owned());
    assert_eq!(frame("acme_attend", "/home/al/x.py"), own);
    assert_eq!(frame("acme_f", "/repository/x.py").0, "*");
    let label = |text: &str| starred(&anonymiser.text(Role::Label, text));
    assert_eq!(label("acme run 12345"), "acme run 12345");
    assert_eq!(label("the acme run 12345"), "* * * *");
}
