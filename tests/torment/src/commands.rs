//! The commands that are run, with all their formats.

/// Stands for the file in a command.
pub(crate) const FILE: &str = "FILE";

/// Names standard input in place of a file.
pub(crate) const STDIN: &str = "-";

/// The commands that print, each with its arguments as one string.
pub(crate) const QUESTIONS: [&str; 54] = [
    "brief FILE",
    "brief --json FILE",
    "check --max-growth 1MiB --json FILE",
    "info FILE",
    "info --json FILE",
    "peak FILE",
    "peak --json FILE",
    "peak --csv FILE",
    "peak --group-by module FILE",
    "at peak FILE",
    "at 3 --json FILE",
    "at oom FILE",
    "range 1..5 FILE",
    "range 1..5 --json FILE",
    "top FILE",
    "top --by lifetime --json FILE",
    "top --csv FILE",
    "find size>1KiB FILE",
    "find main --stack --limit 0 FILE",
    "find lifetime<3ev --json FILE",
    "find live@peak --csv FILE",
    "leaks FILE",
    "leaks --json FILE",
    "oom FILE",
    "oom --json FILE",
    "fleet leaks FILE",
    "fleet odd --json FILE FILE",
    "fragmentation FILE",
    "fragmentation --json FILE",
    "plan FILE",
    "plan --json FILE",
    "explain FILE",
    "explain --json FILE",
    "what-if FILE",
    "what-if --json FILE",
    "annotations FILE",
    "annotations --json FILE",
    "diff FILE FILE",
    "diff --json FILE FILE",
    "check --max-peak 1MiB FILE",
    "check --max-peak 1TiB --no-oom --json FILE",
    "stats FILE",
    "trace FILE",
    "segments FILE",
    "memory FILE",
    "compare FILE FILE",
    "pack FILE",
    "pack --json FILE",
    "inductor FILE",
    "inductor --json FILE",
    "convert --to folded FILE",
    "convert --to csv --table events FILE",
    "convert --to csv --table stacks FILE",
    "convert --to json FILE",
];

/// The commands that write a file: the words before its name, the name, and whether vramscope can read it again.
pub(crate) const WRITERS: [(&str, &str, bool); 29] = [
    ("convert FILE -o", "out.pickle", true),
    ("convert FILE -o", "out.json", true),
    ("convert FILE -o", "out.json.gz", true),
    ("convert FILE -o", "out.pickle.zst", true),
    ("convert FILE -o", "out.vram", true),
    ("convert FILE -o", "out.perfetto.json", false),
    ("convert FILE -o", "out.speedscope.json", false),
    ("convert FILE -o", "out.pb.gz", false),
    (
        "convert FILE --to parquet --table allocations -o",
        "out.parquet",
        false,
    ),
    ("convert FILE --to parquet -o", "tables/", false),
    ("convert FILE --to csv -o", "tables/", false),
    ("convert FILE --anonymise -o", "out.json", true),
    (
        "convert FILE --anonymise --salt x -o",
        "out.perfetto.json",
        false,
    ),
    ("cut FILE --range 2..9 -o", "out.pickle", true),
    ("cut FILE --range 0..1 -o", "out.json", true),
    ("anonymise FILE -o", "out.pickle", true),
    ("anonymise --salt x FILE -o", "out.json", true),
    ("html FILE -o", "out.html", true),
    ("trace-plot FILE -o", "out.html", false),
    ("segment-plot FILE -o", "out.html", false),
    ("profile-plot FILE -o", "out.html", false),
    ("plot FILE -o", "out.svg", false),
    ("plot FILE --view segments -o", "out.svg", false),
    ("plot FILE --view map -o", "out.svg", false),
    ("plot FILE --view allocator -o", "out.svg", false),
    ("plot FILE --view flame -o", "out.svg", false),
    ("plot FILE --view compare --range 1..3 -o", "out.svg", false),
    ("plot FILE -o", "out.png", false),
    ("convert FILE --range 1..4 -o", "out.pickle", true),
];

/// The command that serves a file until a signal ends it.
pub(crate) const SERVER: &str = "view --no-open FILE";

/// The words of a command for a file.
pub(crate) fn words(command: &str, file: &str) -> Vec<String> {
    command
        .split(' ')
        .map(|word| if word == FILE { file } else { word }.to_owned())
        .collect()
}
