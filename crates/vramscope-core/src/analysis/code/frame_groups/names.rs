//! The name of a frame in each grouping.

use super::FrameGrouping;
use crate::analysis::code::call_sites::{label, short_function, short_path};
use crate::analysis::code::frames::{FrameClass, Location, clip, is_python_source, is_torch_name};

/// Longest name in bytes. The longest real names, C++ without arguments, have some hundred.
const NAME_LIMIT_BYTES: usize = 1024;

/// Stands for the file of frames without one: C++ of release builds.
const NO_FILE: &str = "native code without a file";
const STANDARD_LIBRARY: &str = "Python standard library";

pub(super) fn name(grouping: FrameGrouping, location: &Location<'_>, class: FrameClass) -> String {
    let mut name = match grouping {
        FrameGrouping::Line => label(location),
        FrameGrouping::Function => label(&Location {
            line: 0,
            ..*location
        }),
        FrameGrouping::File => file(location),
        FrameGrouping::Module => module(location),
        FrameGrouping::Package => package(location, class),
    };
    name.truncate(clip(&name, NAME_LIMIT_BYTES).len());
    name
}

fn file(location: &Location<'_>) -> String {
    let path = short_path(location.file);
    if path.is_empty() {
        NO_FILE.to_owned()
    } else {
        path
    }
}

/// The module of a file: `torch.nn.modules` for `torch/nn/modules/__init__.py`.
fn module(location: &Location<'_>) -> String {
    if !is_python_source(location.file) {
        return native_scope(location, 2);
    }
    let path = short_path(location.file);
    let dotted = python_module(&path).replace('/', ".");
    if dotted.is_empty() || path.starts_with('<') {
        path
    } else {
        dotted
    }
}

/// `torch/nn/modules` of the short path `torch/nn/modules/__init__.py`.
pub(in crate::analysis) fn python_module(path: &str) -> &str {
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let stem = stem.strip_suffix("/__init__").unwrap_or(stem);
    stem.trim_start_matches('/')
}

fn package(location: &Location<'_>, class: FrameClass) -> String {
    if !is_python_source(location.file) {
        return native_scope(location, 1);
    }
    python_package(location, class).unwrap_or_else(|| {
        let path = location.file.replace('\\', "/");
        if path.contains("/torchinductor_") || path.contains("/.triton/cache/") {
            "compiled by torch.compile".to_owned()
        } else {
            STANDARD_LIBRARY.to_owned()
        }
    })
}

/// The folder or file that is the package of Python code; `None` if the path names no package.
pub(in crate::analysis) fn python_package(
    location: &Location<'_>,
    class: FrameClass,
) -> Option<String> {
    let path = location.file.replace('\\', "/");
    let is_installed = path.contains("/site-packages/") || path.contains("/dist-packages/");
    let short = short_path(&path);
    let (first, is_folder) = match short.trim_start_matches('/').split_once('/') {
        Some((folder, _)) => (folder, true),
        None => (&*short, false),
    };
    if class == FrameClass::User || is_installed {
        let stem = first.strip_suffix(".py").filter(|_| !is_folder);
        return Some(stem.unwrap_or(first).to_owned());
    }
    let is_torch = path.contains("/torch/")
        || path.starts_with("torch/")
        || path.starts_with("<eval_with_key");
    is_torch.then(|| "torch".to_owned())
}

fn native_scope(location: &Location<'_>, levels: usize) -> String {
    if let Some(spaces) = namespaces(location.function, levels) {
        return spaces;
    }
    if is_torch_name(location.function) {
        return "torch".to_owned();
    }
    match short_path(location.file) {
        path if path.is_empty() => "native code".to_owned(),
        path => path,
    }
}

/// The outer namespaces of a C++ function, at most `levels` of them, without classes.
pub(in crate::analysis) fn namespaces(full: &str, levels: usize) -> Option<String> {
    // `short_function` removes the generated namespace, which contains every backward node.
    let function = if full.contains("torch::autograd::generated::") {
        "torch::autograd::apply".to_owned()
    } else {
        short_function(full)
    };
    let scope: Vec<&str> = function.split("::").collect();
    let spaces = scope[..scope.len() - 1].iter().take_while(|part| {
        part.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
    });
    let spaces: Vec<&str> = spaces.take(levels).copied().collect();
    (!spaces.is_empty()).then(|| spaces.join("::"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::code::frames::classify;

    fn names(function: &str, file: &str) -> [String; 5] {
        use FrameGrouping::{File, Function, Line, Module, Package};
        let location = Location {
            function,
            file,
            line: 7,
        };
        let class = classify(function, file);
        [Line, Function, File, Module, Package].map(|grouping| name(grouping, &location, class))
    }

    #[test]
    fn names_of_frames_seen_in_real_files() {
        for (function, file, [module, package]) in [
            (
                "_call_impl",
                "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py",
                ["torch.nn.modules.module", "torch"],
            ),
            (
                "_call_impl",
                "D:\\Dev\\.venv\\Lib\\site-packages\\torch\\nn\\modules\\module.py",
                ["torch.nn.modules.module", "torch"],
            ),
            (
                "rearrange",
                "/v/lib/python3.12/site-packages/einops/__init__.py",
                ["einops", "einops"],
            ),
            ("six", "/v/site-packages/six.py", ["six", "six"]),
            (
                "run",
                "/usr/lib/python3.11/runpy.py",
                ["python3.11.runpy", "Python standard library"],
            ),
            (
                "_run_code",
                "<frozen runpy>",
                ["<frozen runpy>", "Python standard library"],
            ),
            (
                "forward",
                "/root/KIVI/models/llama.py",
                ["models.llama", "models"],
            ),
            ("forward", "train.py", ["train", "train"]),
            ("<cell>", "/tmp/ipykernel_12/345.py", ["345", "345"]),
            (
                "at::_ops::mul_Tensor::call(at::Tensor const&)",
                "",
                ["at::_ops", "at"],
            ),
            (
                "c10::cuda::CUDACachingAllocator::Native::malloc(void**)",
                "",
                ["c10::cuda", "c10"],
            ),
            (
                "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)",
                "",
                ["torch::autograd", "torch"],
            ),
            ("THPVariable_add(_object*)", "", ["torch", "torch"]),
            ("clone", "", ["native code", "native code"]),
        ] {
            let names = names(function, file);
            assert_eq!(
                [&names[3], &names[4]],
                [module, package],
                "{function} {file}"
            );
        }
    }

    #[test]
    fn lines_functions_and_files() {
        assert_eq!(
            names("forward", "/root/KIVI/models/llama.py")[..3],
            [
                "models/llama.py:7 forward",
                "models/llama.py forward",
                "models/llama.py"
            ]
        );
        assert_eq!(names("at::mm(int)", "")[1..3], ["at::mm", NO_FILE]);
        let strange = ["", "::", "/", "<", "\u{e9}::\u{e9}", ".py", "/.py"];
        for (function, file) in strange.iter().flat_map(|f| strange.map(|g| (f, g))) {
            names(function, file);
        }
        assert!(names(&"x".repeat(9_999), "")[0].len() <= NAME_LIMIT_BYTES);
    }
}
