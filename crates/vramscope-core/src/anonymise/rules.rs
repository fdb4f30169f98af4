//! The one list of what stays in an anonymous snapshot: the code follows these rules, help and docs quote them, and
//! tests check their examples.

/// A rule for what stays.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The short name.
    pub name: &'static str,
    /// What stays, in one or two sentences.
    pub stays: &'static str,
    /// Texts and their replacements, with `*` for each hash.
    pub examples: &'static [(Kind, &'static str, &'static str)],
}

/// The kind of text of an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The path of a file.
    File,
    /// The name of a function in a file that no rule covers.
    Function,
    /// An annotation, or a text of metadata.
    Label,
    /// The text of the allocator's environment variable.
    Setting,
}

/// All rules, in the order for reading.
pub const RULES: [Rule; 10] = [
    Rule {
        name: "Packages",
        stays: "Files of well-known packages directly below site-packages or dist-packages, with all their functions. \
                Paths with `..`, with escapes such as `%2e` or with folders called like files never stay.",
        examples: &[
            (
                Kind::File,
                "/home/al/site-packages/numpy/core/fromnumeric.py",
                "/home/*/site-packages/numpy/core/fromnumeric.py",
            ),
            (
                Kind::File,
                "/opt/site-packages/acme/model.py",
                "/opt/site-packages/*/*.py",
            ),
            (
                Kind::File,
                "/opt/site-packages/torch/../acme.py",
                "/opt/site-packages/torch/../*.py",
            ),
        ],
    },
    Rule {
        name: "Python",
        stays: "Modules of the standard library directly below lib/pythonX.Y, and known files of its packages and of the \
                sources of Python and the C library, with all their functions.",
        examples: &[
            (
                Kind::File,
                "/usr/lib/python3.12/threading.py",
                "/usr/lib/python3.12/threading.py",
            ),
            (
                Kind::File,
                "/usr/lib/python3.12/acme/model.py",
                "/usr/lib/python3.12/*/*.py",
            ),
        ],
    },
    Rule {
        name: "PyTorch's files",
        stays: "Paths that begin with torch/, or lie below pytorch/torch, pytorch/aten and pytorch/c10, if every folder and file \
                consists of words of PyTorch's own names; their functions likewise.",
        examples: &[
            (
                Kind::File,
                "torch/nn/modules/linear.py",
                "torch/nn/modules/linear.py",
            ),
            (Kind::File, "torch/acme_model.py", "torch/*.py"),
        ],
    },
    Rule {
        name: "Folders and endings",
        stays: "Folders that exist on many machines (home, usr, opt, lib, src, …), and endings of source files.",
        examples: &[(Kind::File, "/home/al/repo/train.py", "/home/*/*/*.py")],
    },
    Rule {
        name: "C++ and C names",
        stays: "In the namespaces of PyTorch, CUDA's libraries and C++ (at, c10, torch, std, …), and behind the beginnings of \
                their C functions (Py, THP, cuda, cublas, …), names that consist of words of these projects' own names. With \
                any other word, a name is hashed, and only that beginning stays.",
        examples: &[
            (
                Kind::Function,
                "at::native::empty_cuda(long)",
                "at::native::empty_cuda(long)",
            ),
            (
                Kind::Function,
                "at::native::acme_kernel(long)",
                "at::native::*(long)",
            ),
            (Kind::Function, "cudaMalloc", "cudaMalloc"),
            (Kind::Function, "PyInit_acme", "Py_*"),
        ],
    },
    Rule {
        name: "Names of the language",
        stays: "Function names that everybody uses: forward, backward, step, main, `__init__`, `<lambda>` and their like.",
        examples: &[
            (Kind::Function, "Model.forward", "*.forward"),
            (Kind::Function, "<lambda>", "<lambda>"),
        ],
    },
    Rule {
        name: "Words of training",
        stays: "In annotations, metadata and compile contexts: words of training, of the profiler and of the compiler (step, \
                forward, loss, optimizer, AdamW, …), aten:: and other operators, and punctuation.",
        examples: &[
            (Kind::Label, "acme forward", "* forward"),
            (
                Kind::Label,
                "Optimizer.step#AdamW.step",
                "Optimizer.step#AdamW.step",
            ),
            (Kind::Label, "aten::addmm", "aten::addmm"),
        ],
    },
    Rule {
        name: "Settings",
        stays: "The allocator's settings that some torch has, with values that they can have; and the words of the format, \
                such as actions and states.",
        examples: &[
            (
                Kind::Setting,
                "expandable_segments:True,max_split_size_mb:512,acme:7",
                "expandable_segments:True,max_split_size_mb:512,*:*",
            ),
            (
                Kind::Setting,
                "max_split_size_mb:acme",
                "max_split_size_mb:*",
            ),
        ],
    },
    Rule {
        name: "Numbers",
        stays: "Numbers that the format holds as numbers: lines, sizes, addresses, times, streams. In texts, numbers of up to 4 \
                digits that stand alone; of up to 7 after step(s), iteration, iter, epoch(s), batch, minibatch, layer(s), rank, \
                ProfilerStep and Region, two numbers such as 12/100 together. Numbers joined to a word or to other numbers are \
                hashed; only what a compiler appends to a function stays, with one number.",
        examples: &[
            (Kind::Label, "train_step 120000", "train_step 120000"),
            (Kind::Label, "step 4911512/3456789", "step *"),
            (Kind::Label, "port 8080", "* 8080"),
            (Kind::Label, "10.20.30.40", "*"),
            (Kind::Label, "4111 1111 1111 1111", "*"),
            (Kind::Label, "patient 12345", "* *"),
            (Kind::Function, "acme.1985", "*.*"),
            (Kind::Function, "acme.isra.0", "*.isra.0"),
        ],
    },
    Rule {
        name: "Names of snapshots",
        stays: "The names of the files that are read. Those that are written into a folder have the same names: rename files \
                whose names nobody should see.",
        examples: &[],
    },
];
