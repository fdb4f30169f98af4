//! The context of a report: its source, the framework in its traceback, the command line.

use memchr::{memchr, memmem, memrchr};
use serde::Serialize;

use crate::compact::prefix;

/// A framework that a traceback names, outermost first among those that decide about memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Framework {
    /// verl.
    Verl,
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// LLaMA-Factory.
    LlamaFactory,
    /// Axolotl.
    Axolotl,
    /// Unsloth.
    Unsloth,
    /// TRL.
    Trl,
    /// torchtitan.
    Torchtitan,
    /// Megatron-LM.
    Megatron,
    /// ComfyUI.
    ComfyUi,
    /// Lightning.
    Lightning,
    /// DeepSpeed.
    DeepSpeed,
    /// Hugging Face's transformers.
    Transformers,
    /// Hugging Face's diffusers.
    Diffusers,
    /// Hugging Face's accelerate.
    Accelerate,
    /// JAX.
    Jax,
    /// TensorFlow.
    TensorFlow,
    /// llama.cpp or another program on ggml.
    LlamaCpp,
    /// ollama.
    Ollama,
    /// TensorRT-LLM.
    TensorRtLlm,
    /// ONNX Runtime.
    OnnxRuntime,
    /// Paddle.
    Paddle,
    /// PyTorch, without a known framework.
    PyTorch,
}

impl Framework {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LlamaCpp => "llama.cpp",
            Self::Ollama => "ollama",
            Self::TensorRtLlm => "TensorRT-LLM",
            _ => PLACES
                .iter()
                .find(|(framework, ..)| *framework == self)
                .map_or("", |(_, name, _)| name),
        }
    }
}

/// The name of each, and the folders of its files.
const PLACES: [(Framework, &str, &[&str]); 20] = [
    (Framework::Verl, "verl", &["verl"]),
    (Framework::Vllm, "vLLM", &["vllm"]),
    (Framework::Sglang, "SGLang", &["sglang"]),
    (
        Framework::LlamaFactory,
        "LLaMA-Factory",
        &["llamafactory", "LLaMA-Factory", "llmtuner"],
    ),
    (Framework::Axolotl, "Axolotl", &["axolotl"]),
    (Framework::Unsloth, "Unsloth", &["unsloth", "unsloth_zoo"]),
    (Framework::Trl, "TRL", &["trl"]),
    (Framework::Torchtitan, "torchtitan", &["torchtitan"]),
    (
        Framework::Megatron,
        "Megatron-LM",
        &["megatron", "Megatron-LM"],
    ),
    (Framework::ComfyUi, "ComfyUI", &["ComfyUI", "comfy"]),
    (
        Framework::Lightning,
        "Lightning",
        &["lightning", "pytorch_lightning"],
    ),
    (Framework::DeepSpeed, "DeepSpeed", &["deepspeed"]),
    (Framework::Transformers, "transformers", &["transformers"]),
    (Framework::Diffusers, "diffusers", &["diffusers"]),
    (Framework::Accelerate, "accelerate", &["accelerate"]),
    (Framework::Jax, "JAX", &["jax", "jaxlib", "flax"]),
    (Framework::TensorFlow, "TensorFlow", &["tensorflow"]),
    (Framework::OnnxRuntime, "ONNX Runtime", &["onnxruntime"]),
    (Framework::Paddle, "Paddle", &["paddle"]),
    (Framework::PyTorch, "PyTorch", &["torch"]),
];

/// How far before an error its traceback is searched, in bytes.
const TRACEBACK_BYTES: usize = 16 << 10;

/// The framework, and the user's own innermost line, in the traceback at the end of a text.
pub(crate) fn traceback(before: &[u8]) -> (Option<Framework>, String) {
    let before = &before[before.len().saturating_sub(TRACEBACK_BYTES)..];
    // Only the last traceback: earlier ones belong to other errors.
    let start = memmem::rfind(before, b"Traceback (most recent call last)").unwrap_or(0);
    let before = &before[start..];
    let (mut best, mut place) = (None, String::new());
    for at in memmem::find_iter(before, b"File \"") {
        let rest = &before[at + 6..];
        let Some(end) = memchr(b'"', rest).filter(|&end| end < 400) else {
            continue;
        };
        let path = &rest[..end];
        let Ok(path) = str::from_utf8(path) else {
            continue;
        };
        let parts: Vec<&str> = path.split(['/', '\\']).collect();
        let rank = PLACES.iter().position(|(_, _, folders)| {
            parts[..parts.len() - 1]
                .iter()
                .any(|part| folders.contains(part))
        });
        best = [best, rank].into_iter().flatten().min();
        if !path.contains("-packages") && !path.starts_with('<') && !path.contains("lib/python") {
            place = own_line(parts.last().unwrap_or(&""), &rest[end + 1..]);
        }
    }
    (best.map(|rank| PLACES[rank].0), place)
}

/// `train.py:10 step`, from a file's name and the rest of its line.
fn own_line(name: &str, rest: &[u8]) -> String {
    let line = &rest[..memchr(b'\n', rest).unwrap_or(rest.len()).min(200)];
    let line = String::from_utf8_lossy(line);
    let number: String = line
        .strip_prefix(", line ")
        .unwrap_or_default()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let function = line.split(", in ").nth(1).unwrap_or_default().trim();
    match number.is_empty() {
        true => name.to_owned(),
        false => format!("{name}:{number} {function}").trim_end().to_owned(),
    }
}

/// The source of a line: `rank 3`, `TP5`, `Worker_TP2`; empty if it names none.
pub(crate) fn teller(line: &[u8]) -> String {
    let head = String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned();
    for word in ["[rank", "[default", "[Rank ", "rank=", "Rank "] {
        let Some((_, rest)) = head.split_once(word) else {
            continue;
        };
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        if !digits.is_empty() && digits.len() < 8 {
            return format!("rank {digits}");
        }
    }
    let words = head.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let mut words = words.filter(|word| {
        let is_worker = word.starts_with("Worker_") || word.starts_with("EngineCore_");
        let digits = |prefix| word.strip_prefix(prefix).is_some_and(is_number);
        is_worker || digits("TP") || digits("DP")
    });
    words.next().unwrap_or_default().chars().take(40).collect()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Programs that start programs.
const LAUNCHERS: [&str; 10] = [
    "torchrun ",
    "accelerate launch ",
    "vllm serve ",
    "llamafactory-cli ",
    "deepspeed ",
    "python ",
    "python3 ",
    "python3.",
    "llama-server ",
    "llama-cli ",
];

/// The longest command stored, in bytes.
const LONGEST_COMMAND: usize = 4000;

/// Most bytes between the beginning of a line and a launcher in it.
const BEFORE_LAUNCHER: usize = 400;

/// The command line with a launcher at `at`.
pub(crate) fn command(text: &[u8], at: usize) -> Option<String> {
    let near = at.saturating_sub(BEFORE_LAUNCHER);
    let start = match memrchr(b'\n', &text[near..at]) {
        Some(end) => near + end + 1,
        None if near == 0 => 0,
        None => return None,
    };
    let line = joined(&text[start..text.len().min(start + 2 * LONGEST_COMMAND)]);
    let line = String::from_utf8(line).ok()?;
    let own = &line[prefix(line.as_bytes()).min(line.len())..];
    // After a prompt, or printed by a launcher.
    let own = ["cmd = ", "$ ", "# ", "+ ", "% "]
        .iter()
        .filter_map(|prompt| own.split_once(prompt).map(|(_, rest)| rest))
        .min_by_key(|rest| rest.len())
        .unwrap_or(own)
        .trim();
    let (variables, program) = variables(own);
    let is_known = LAUNCHERS
        .iter()
        .any(|launcher| name_first(program).starts_with(launcher));
    if !is_known || own.len() > LONGEST_COMMAND || own.chars().any(char::is_control) {
        return None;
    }
    let is_python = name_first(program).starts_with("python");
    let argument = program.split_whitespace().nth(1).unwrap_or_default();
    let runs = argument.ends_with(".py") || ["-m", "-u"].contains(&argument);
    (!is_python || runs).then(|| format!("{variables}{program}"))
}

/// A line joined with its continuation lines.
fn joined(text: &[u8]) -> Vec<u8> {
    let mut joined = Vec::new();
    for line in text.split(|&byte| byte == b'\n').take(40) {
        let line = line.trim_ascii_end();
        match line.strip_suffix(b"\\") {
            Some(part) => joined.extend(part.trim_ascii()),
            None => {
                joined.extend(match joined.is_empty() {
                    true => line,
                    false => line.trim_ascii(),
                });
                break;
            }
        }
        joined.push(b' ');
        if joined.len() > LONGEST_COMMAND {
            break;
        }
    }
    joined
}

/// Variables before a program, and the rest.
fn variables(line: &str) -> (&str, &str) {
    let mut at = 0;
    for word in line.split_inclusive(' ') {
        let name = word.split('=').next().unwrap_or_default();
        let is_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        if !word.contains('=') || name.is_empty() || !name.bytes().all(is_name) {
            break;
        }
        at += word.len();
    }
    line.split_at(at)
}

/// A command from the program's name on, without the folder.
fn name_first(program: &str) -> &str {
    let end = program.find(' ').unwrap_or(program.len());
    let name = program[..end].rfind('/').map_or(0, |slash| slash + 1);
    &program[name..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_traceback_names_the_framework_and_the_users_line() {
        let text = br#"Traceback (most recent call last):
  File "/x/site-packages/diffusers/a.py", line 3, in f
Traceback (most recent call last):
  File "/home/u/train.py", line 67, in <module>
    trainer.train()
  File "/x/lib/python3.11/site-packages/transformers/trainer.py", line 2245, in train
  File "/x/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 116, in forward
"#;
        let (framework, place) = traceback(text);
        assert_eq!(framework, Some(Framework::Transformers));
        assert_eq!(place, "train.py:67 <module>");
        assert_eq!(traceback(b"no traceback"), (None, String::new()));
    }

    #[test]
    fn tellers_are_named() {
        for (line, name) in [
            ("[rank3]: torch.OutOfMemoryError", "rank 3"),
            ("[default7]:RuntimeError: x", "rank 7"),
            ("(VllmWorker rank=2 pid=4) ERROR", "rank 2"),
            ("[2025-10-16 09:06:22 TP5] KV Cache", "TP5"),
            ("(Worker_TP2 pid=99) ERROR 04-09", "Worker_TP2"),
            ("torch.OutOfMemoryError: CUDA", ""),
        ] {
            assert_eq!(teller(line.as_bytes()), name, "{line}");
        }
    }

    #[test]
    fn commands_are_found() {
        let found = |text: &str, word: &str| {
            let at = memmem::find(text.as_bytes(), word.as_bytes()).unwrap();
            command(text.as_bytes(), at)
        };
        assert_eq!(
            found(
                "x\n$ CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc 2 train.py \\\n   --lr 1\nnext",
                "torchrun"
            )
            .as_deref(),
            Some("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc 2 train.py --lr 1")
        );
        assert_eq!(
            found("[2024] [INFO] [runner.py:568:main] cmd = /opt/conda/bin/python -u -m deepspeed.launcher x", "python").as_deref(),
            Some("/opt/conda/bin/python -u -m deepspeed.launcher x")
        );
        assert_eq!(found("we use python 3.10 here", "python"), None);
        assert_eq!(found("python is fine", "python"), None);
    }
}
