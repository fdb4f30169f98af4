//! `anonymise` under attack: secrets of every shape in every text of a snapshot, looked for in every format.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use memchr::memmem::Finder;
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::{Map, Value, json};
use vramscope_core::anonymise::RULES;
use vramscope_core::{decode, encode};
use vramscope_synth::Rng;

use crate::program::{transcript, vramscope};

/// Shapes of paths, functions, labels and settings. Each `§` becomes a secret word.
const WORDS: [&str; 62] = [
    "§",
    "/home/§/train.py",
    "/repo/§.py",
    "/workspace/§",
    "~/§/x.ipynb",
    "C:\\§\\x.py",
    "C:\\§\\Python311\\Lib\\§.py",
    "torch/§.py",
    "torch\\§.py",
    "torch/nn/§/linear.py",
    "/home/u/torch/§.py",
    "/repo/pytorch/torch/§.py",
    "/repo/examples/pytorch/build/§.py",
    "/x/pytorch/third_party/§/k.cu",
    "/u/site-packages/§/x.py",
    "/u/site-packages/torch/../§.py",
    "/u/site-packages/torch/b/site-packages/§/x.py",
    "/usr/lib/python3.11/../§.py",
    "/opt/lib/python3.11/§/model.py",
    "/a/libstdc++-v3/§.cc",
    "/b/Python-3.11/Objects/§.c",
    "./misc/§.c",
    "../elf/§.c",
    "conda-§/x.py",
    "/tmp/torchinductor_§/x.py",
    "<frozen §>",
    "<ipython-input-3-§>",
    "<eval_with_key>.§",
    "PyInit_§",
    "_Py§",
    "THP§",
    "cudnn§",
    "cuda§",
    "pthread_§",
    "wrap_call_§",
    "torch::§::Op",
    "at::native::§_kernel(int)",
    "std::vector<§::Row>::push_back(§&&)",
    "void cutlass::§<int>()",
    "torch::autograd::CppNode<§>::apply(§)",
    "§::torch::x",
    "operator §()",
    "auto at::(anonymous namespace)::{lambda(§)#1}",
    "aten::§",
    "torch.ops.§.run",
    "nn.Module: §_0",
    "torch/optim/adam.py(3): §",
    "§.py(3): run",
    "queue.py(3): §",
    "<built-in method § of Tensor object at 0x7f>",
    "<built-in method add of Tensor object at 0x§>",
    "Model.§.<locals>.<lambda>",
    "__§__",
    "step § 12",
    "Optimizer.step#§.step",
    "{\"phase\":\"§\",\"§\":3}",
    "https://u:§@§.example/x?y=§",
    "  File \"/home/§/x.py\", line 3, in §\n    §(1)\n",
    "expandable_segments:True,§:§",
    "max_split_size_mb:§,backend:§",
    "é\u{202e}§\u{9b}東§",
    "=cmd|'§'!A0",
];

/// Shapes of numbers. Each `¤` becomes a digit.
const NUMBERS: [&str; 18] = [
    "connect 10.¤¤.¤¤.¤¤ port",
    "ssn ¤¤¤-¤¤-¤¤¤¤",
    "card ¤¤¤¤-¤¤¤¤-¤¤¤¤-¤¤¤¤",
    "card ¤¤¤¤ ¤¤¤¤ ¤¤¤¤ ¤¤¤¤",
    "card ¤¤¤¤, ¤¤¤¤, ¤¤¤¤, ¤¤¤¤",
    "tel +¤¤ ¤¤¤ ¤¤¤¤¤¤¤",
    "(¤¤¤) ¤¤¤-¤¤¤¤",
    "¤¤/¤¤/¤¤¤¤",
    "acct:¤¤¤¤¤¤¤¤¤",
    "patient ¤¤¤¤¤¤",
    "¤¤¤¤¤¤¤¤-¤¤¤¤-4¤¤¤-8¤¤¤-¤¤¤¤¤¤¤¤¤¤¤¤",
    "step ¤¤¤-¤¤-¤¤¤¤",
    "layer¤¤¤¤¤¤¤¤¤¤",
    "at::add(¤¤¤¤, ¤¤¤¤, ¤¤¤¤)",
    "torch.¤¤¤¤¤¤¤¤¤¤",
    "Python-¤¤¤.¤¤¤¤.¤¤",
    "expandable_segments:¤¤¤¤¤¤¤¤¤¤",
    "max_split_size_mb:¤¤¤¤.¤¤¤¤",
];

/// Texts that reveal nothing about anybody.
const READABLE: [&str; 9] = [
    "/home/§/site-packages/torch/nn/modules/linear.py",
    "torch/nn/modules/linear.py",
    "/opt/site-packages/numpy/core/fromnumeric.py",
    "/usr/lib/python3.12/threading.py",
    "at::native::empty_cuda(long)",
    "PyObject_Call",
    "cudaMalloc",
    "aten::addmm",
    "train_step 120000",
];

/// Letters that neither hashes nor words have many of in a row.
const LETTERS: &[u8; 5] = b"vwxyz";
/// This many of them in a row are part of a secret.
const LETTERS_IN_A_ROW: usize = 8;
/// Runs of this many digits, ignoring anything between them, are compared with those of the secrets.
const DIGITS: usize = 6;

/// Makes secrets, and knows the numbers among them.
struct Gardener {
    rng: Rng,
    count: usize,
    /// For each secret, everything from its first digit to its last.
    numbers: Vec<String>,
}

impl Gardener {
    /// A text of this shape, with unique secrets.
    fn plant(&mut self, shape: &str) -> String {
        self.count += 1;
        let mut text = String::new();
        for character in shape.chars() {
            match character {
                '§' => {
                    let letters = (0..12).map(|_| char::from(*self.rng.pick(LETTERS)));
                    // Many public prefixes are followed by a capital.
                    let letters = letters.enumerate();
                    text.extend(letters.map(|(at, letter)| match at {
                        0 => letter.to_ascii_uppercase(),
                        _ => letter,
                    }));
                }
                '¤' => text.push(char::from(*self.rng.pick(b"0123456789"))),
                other => text.push(other),
            }
        }
        if shape.contains('¤') {
            let is_digit = |character: char| character.is_ascii_digit();
            let from = text.find(is_digit).unwrap();
            let to = text.rfind(is_digit).unwrap();
            self.numbers.push(text[from..=to].to_owned());
        }
        text
    }

    fn frame(&mut self, shape: &str) -> Value {
        let mut frame = json!({"line": 3});
        for key in [
            "name",
            "filename",
            "fx_node_op",
            "fx_node_name",
            "fx_node_target",
            "fx_original_trace",
        ] {
            frame[key] = self.plant(shape).into();
        }
        frame[self.plant(shape)] = self.plant(shape).into();
        frame
    }

    fn event(&mut self, shape: &str, time_us: usize) -> Value {
        let mut event = json!({"action": "alloc", "addr": 4096 * time_us, "size": 512, "stream": 0, "time_us": time_us,
            "frames": [self.frame(shape)], "forward_frames": [self.plant(shape), self.plant(shape)]});
        for key in [
            "compile_context",
            "user_metadata",
            "internal_metadata",
            "category",
        ] {
            event[key] = self.plant(shape).into();
        }
        event[self.plant(shape)] = json!({self.plant(shape): [self.plant(shape)]});
        event
    }

    fn segment(&mut self, shape: &str, device: i64, row: usize) -> Value {
        let address = (row + 1) << 24;
        let mut block = json!({"address": address, "size": 512, "requested_size": 500,
            "state": self.plant(shape), "frames": [self.frame(shape)]});
        block[self.plant(shape)] = self.plant(shape).into();
        let mut segment = json!({"device": device, "address": address, "total_size": 512, "stream": 0,
            "segment_type": self.plant(shape), "frames": [self.frame(shape)], "blocks": [block]});
        segment[self.plant(shape)] = self.plant(shape).into();
        segment
    }

    fn annotation(&mut self, shape: &str, time_us: usize) -> [Value; 2] {
        let mut mark = json!({"stage": "START", "name": self.plant(shape), "domain": self.plant(shape), "device": 0,
            "category": self.plant(shape), "payload": self.plant(shape), "time_us": time_us});
        mark[self.plant(shape)] = self.plant(shape).into();
        let mut odd = mark.clone();
        odd["stage"] = self.plant(shape).into();
        [mark, odd]
    }
}

/// A snapshot with a secret of every shape in every text, and `READABLE` texts in their places.
fn garden(gardener: &mut Gardener) -> Value {
    let shapes: Vec<&str> = WORDS.iter().chain(&NUMBERS).copied().collect();
    let [mut trace, mut host_trace, mut segments, mut host_segments] = [const { Vec::new() }; 4];
    let mut annotations = Vec::new();
    let (mut settings, mut top) = (Map::new(), Map::new());
    let [mut notes, mut threads] = [Map::new(), Map::new()];
    for (row, shape) in shapes.iter().enumerate() {
        trace.push(gardener.event(shape, row));
        let mut odd = gardener.event(shape, row);
        odd["action"] = gardener.plant(shape).into();
        trace.push(odd);
        host_trace.push(gardener.event(shape, row));
        segments.push(gardener.segment(shape, 0, row));
        host_segments.push(gardener.segment(shape, -1, row));
        annotations.extend(gardener.annotation(shape, row));
        settings.insert(gardener.plant(shape), gardener.plant(shape).into());
        top.insert(
            gardener.plant(shape),
            json!([{gardener.plant(shape): gardener.plant(shape)}]),
        );
        notes.insert(gardener.plant(shape), gardener.plant(shape).into());
        threads.insert(row.to_string(), gardener.plant(shape).into());
    }
    let tool = format!("vramscope-capture 0.1.0{}", gardener.plant("§"));
    let mut all = |between: &str| {
        let texts: Vec<_> = shapes.iter().map(|shape| gardener.plant(shape)).collect();
        texts.join(between)
    };
    for (key, between) in [
        ("PYTORCH_CUDA_ALLOC_CONF", ","),
        ("backend", ";"),
        ("max_split_size", ":"),
    ] {
        settings.insert(key.to_owned(), all(between).into());
    }
    let divisions = json!({all(""): 1, "256": all(" ")});
    settings.insert("roundup_power2_divisions".to_owned(), divisions);
    let capture = json!({"tool": tool,
        "program": [all(" "), all(" ")], "ended": all(" "), "notes": notes, "threads": threads,
        "devices": [{"index": 0, "name": all(" "), "uuid": all(" "), "total_bytes": 8}]});
    for (row, text) in READABLE.iter().enumerate() {
        let text = gardener.plant(text);
        let frames = json!([{"name": text, "filename": "??", "line": 1}, {"name": "f", "filename": text, "line": 1}]);
        trace.push(json!({"action": "alloc", "addr": 1_u64 << 40, "size": 512, "stream": 0, "time_us": 1000 + row,
            "frames": frames, "user_metadata": text}));
    }
    let mut file = json!({"segments": segments, "host_segments": host_segments, "device_traces": [trace],
        "host_traces": host_trace, "external_annotations": annotations, "allocator_settings": settings,
        "capture": capture});
    file.as_object_mut().unwrap().append(&mut top);
    file
}

/// Looks for secrets.
struct Search {
    numbers: Vec<Finder<'static>>,
    digits: HashSet<String>,
}

impl Search {
    fn new(numbers: &[String]) -> Self {
        let digits = numbers.iter().flat_map(|text| windows(text)).collect();
        Self {
            numbers: numbers
                .iter()
                .map(|number| Finder::new(number).into_owned())
                .collect(),
            digits,
        }
    }

    /// Looks for words in bytes of any kind.
    fn words(place: &str, bytes: &[u8]) {
        let is_letter = |byte: &u8| LETTERS.contains(&byte.to_ascii_lowercase());
        let mut runs = bytes.split(|byte| !is_letter(byte));
        let found = runs.find(|run| run.len() >= LETTERS_IN_A_ROW);
        let found = found.map(String::from_utf8_lossy);
        assert!(found.is_none(), "{place}: {found:?}");
    }

    /// Looks for numbers as they were written.
    fn numbers(&self, place: &str, text: &str) {
        let is_in_text = |number: &&Finder| number.find(text.as_bytes()).is_some();
        let found = self.numbers.iter().find(is_in_text);
        let found = found.map(|number| String::from_utf8_lossy(number.needle()));
        assert!(found.is_none(), "{place}: {found:?}");
    }

    /// Looks for both in a separate text, in which only secrets have many digits.
    fn text(&self, place: &str, text: &str) {
        Self::words(place, text.as_bytes());
        let found = windows(text).find(|digits| self.digits.contains(digits));
        assert!(found.is_none(), "{place}: {text} has {found:?}");
    }

    fn json(&self, place: &str, value: &Value) {
        match value {
            Value::String(text) => self.text(place, text),
            Value::Array(items) => items.iter().for_each(|item| self.json(place, item)),
            Value::Object(entries) => entries.iter().for_each(|(key, value)| {
                self.text(place, key);
                self.json(place, value);
            }),
            _ => {}
        }
    }

    /// In a file as it is, unpacked, and read back.
    fn file(&self, path: &Path) {
        let place = path.display().to_string();
        let bytes = fs::read(path).unwrap();
        Self::words(&place, &bytes);
        let bytes = unpacked(bytes);
        Self::words(&place, &bytes);
        if place.ends_with(".parquet") {
            let rows = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
            let rows = rows.get_row_iter(None).unwrap();
            let text: String = rows.map(|row| row.unwrap().to_string()).collect();
            Self::words(&place, text.as_bytes());
            self.numbers(&place, &text);
        } else if let Ok(value) = serde_json::from_slice(&bytes) {
            self.json(&place, &value);
        } else if let Ok(snapshot) = decode(bytes.as_slice()) {
            let mut text = Vec::new();
            encode::encode_json(&snapshot, &mut text).unwrap();
            self.json(&place, &serde_json::from_slice(&text).unwrap());
        } else {
            self.numbers(&place, &String::from_utf8_lossy(&bytes));
        }
    }
}

/// All runs of this many digits in a text, ignoring anything between them.
fn windows(text: &str) -> impl Iterator<Item = String> {
    let digits: Vec<char> = text.chars().filter(char::is_ascii_digit).collect();
    let last = digits.len().saturating_sub(DIGITS - 1);
    (0..last).map(move |at| digits[at..at + DIGITS].iter().collect())
}

fn unpacked(bytes: Vec<u8>) -> Vec<u8> {
    let mut out = Vec::new();
    match bytes.get(..4) {
        Some([0x1f, 0x8b, ..]) => MultiGzDecoder::new(bytes.as_slice())
            .read_to_end(&mut out)
            .unwrap(),
        Some([0x28, 0xb5, 0x2f, 0xfd]) => zstd::stream::copy_decode(bytes.as_slice(), &mut out)
            .map(|()| 0)
            .unwrap(),
        _ => return bytes,
    };
    out
}

/// The files below a folder.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| match path.is_dir() {
        true => files_in(&path),
        false => vec![path],
    });
    files.collect()
}

fn gardener() -> Gardener {
    Gardener {
        rng: Rng::new(14),
        count: 0,
        numbers: Vec::new(),
    }
}

/// Writes a file, or a folder of tables, below `out` under a unique name.
fn anonymise(source: &Path, out: &Path, format: &str, salt: &[&str]) {
    let is_tables = format.starts_with("csv") || format == "parquet";
    let name = format!("{}.{format}", salt.len());
    // Tables go into a folder, whose name implies no format.
    let to = out.join(if is_tables {
        name.replace('.', "-")
    } else {
        name
    });
    let (source, to) = (source.to_str().unwrap(), to.to_str().unwrap());
    let command = ["anonymise", source, "-o", to, "--to", format];
    let output = vramscope(&[&command, salt].concat());
    assert!(output.status.success(), "{format}: {}", transcript(&output));
    assert!(output.stdout.is_empty(), "{format}");
    Search::words(format, &output.stderr);
    assert_eq!(Path::new(to).is_dir(), is_tables);
}

#[test]
fn no_secret_is_in_any_format() {
    let folder = tempfile::tempdir().unwrap();
    let mut gardener = gardener();
    let source = folder.path().join("source.json");
    fs::write(&source, garden(&mut gardener).to_string()).unwrap();
    assert!(gardener.count > 5000, "{}", gardener.count);
    let search = Search::new(&gardener.numbers);
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let salted = ["--salt", "pepper"];
    for format in FORMATS {
        anonymise(&source, &out, format, &[]);
        anonymise(&source, &out, format, &salted);
    }
    let files = files_in(&out);
    assert!(files.len() > 2 * FORMATS.len());
    files.iter().for_each(|file| search.file(file));
    let json = fs::read_to_string(out.join("0.json")).unwrap();
    for text in READABLE {
        let text = text.rsplit('§').next().unwrap();
        assert!(json.contains(text), "{text}");
    }
    // Compressed files are the same.
    for format in ["json.gz", "json.zst", "pickle.gz", "csv.zst"] {
        anonymise(&source, &out, format, &salted);
    }
    for file in files_in(&out) {
        let name = file.to_str().unwrap();
        let plain = name
            .replace("-zst", "")
            .replace(".zst", "")
            .replace(".gz", "");
        if name != plain {
            assert!(
                unpacked(fs::read(&file).unwrap()) == fs::read(plain).unwrap(),
                "{name}"
            );
        }
    }
}

/// Every format.
const FORMATS: [&str; 9] = [
    "pickle",
    "json",
    "packed",
    "perfetto",
    "speedscope",
    "pprof",
    "folded",
    "csv",
    "parquet",
];

#[test]
fn every_format_is_searched() {
    let help = transcript(&vramscope(&["anonymise", "--help"]));
    let (_, names) = help.split_once("[possible values: pickle").unwrap();
    let (names, _) = names.split_once(']').unwrap();
    for name in names.split(", ").filter(|name| !name.is_empty()) {
        assert!(FORMATS.contains(&name), "{name}");
    }
}

#[test]
fn a_user_keeps_what_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("x.json");
    let frame = |name: &str, file: &str| json!({"name": name, "filename": file, "line": 1});
    let frames = [
        frame("attend", "/repo/model.py"),
        frame("attend_b", "/repository/model.py"),
        frame("shared_name", "/home/al/x.py"),
    ];
    let event = json!({"action": "alloc", "addr": 512, "size": 512, "stream": 0, "frames": frames,
        "user_metadata": "tower 12345"});
    let file = json!({"segments": [], "device_traces": [[event]]});
    fs::write(&source, file.to_string()).unwrap();
    let source = source.to_str().unwrap();
    let keep = [
        "--keep",
        "/repo/*",
        "--keep",
        "shared_name",
        "--keep",
        "tower *",
    ];
    for command in [
        &["anonymise", source, "--to", "json"][..],
        &["convert", source, "--to", "json", "--anonymise"],
    ] {
        let output = vramscope(&[command, &keep].concat());
        let text = transcript(&output);
        for kept in ["\"attend\"", "/repo/model.py", "shared_name", "tower 12345"] {
            assert!(text.contains(kept), "{text}");
        }
        for hashed in ["attend_b", "repository", "al/"] {
            assert!(!text.contains(hashed), "{text}");
        }
    }
}

/// The rules as in the documentation, between its own words.
#[test]
fn the_documentation_has_every_rule_and_example() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("anonymise.md");
    let text = fs::read_to_string(path).unwrap();
    let mut expected = String::new();
    for rule in RULES {
        expected.push_str(&format!("\n**{}.** {}\n\n", rule.name, rule.stays));
        for (_, original, hidden) in rule.examples {
            expected.push_str(&match original == hidden {
                true => format!("- `{original}` stays\n"),
                false => format!("- `{original}` becomes `{hidden}`\n"),
            });
        }
    }
    assert!(
        text.contains(&expected),
        "anonymise.md should have:\n{expected}"
    );
}
