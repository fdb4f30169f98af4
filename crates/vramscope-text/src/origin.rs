//! The framework that a failure belongs to: by its form, by the traceback before it, or by words around it.

use memchr::memmem;

use crate::context::Framework;
use crate::record::{Form, Report};

/// Words in the line of a failure, by which a framework's own processes and files are known.
const IN_LINE: [(&str, Framework); 8] = [
    ("(EngineCore", Framework::Vllm),
    ("(VllmWorker", Framework::Vllm),
    ("(Worker_TP", Framework::Vllm),
    ("[TensorRT-LLM]", Framework::TensorRtLlm),
    ("llama runner process", Framework::Ollama),
    ("requires more system memory (", Framework::Ollama),
    ("XlaRuntimeError", Framework::Jax),
    ("tensorflow/", Framework::TensorFlow),
];

/// Words near it.
const NEAR: [(&str, Framework); 5] = [
    ("Error occurred when executing ", Framework::ComfyUi),
    ("!!! Exception during processing", Framework::ComfyUi),
    ("ollama/ollama/", Framework::Ollama),
    ("ggml_metal_", Framework::LlamaCpp),
    ("/ggml-cuda", Framework::LlamaCpp),
];

/// Words of ollama near an error of ggml.
const OLLAMA: [&str; 2] = ["ollama/ollama", "llama runner"];

/// The framework, from the traceback's, the line and what is near it.
pub(crate) fn framework(
    report: &Report,
    traceback: Option<Framework>,
    line: &[u8],
    near: &[u8],
) -> Option<Framework> {
    let has = |text: &[u8], word: &str| memmem::find(text, word.as_bytes()).is_some();
    let by_words = || {
        let in_line = IN_LINE.iter().find(|(word, _)| has(line, word));
        let found = in_line.or_else(|| NEAR.iter().find(|(word, _)| has(near, word)));
        found.map(|(_, framework)| *framework)
    };
    let by_form = match report {
        Report::Failure(failure) => match failure.form {
            // ollama runs llama.cpp's code, so its own words come first.
            Form::Ggml => Some(match OLLAMA.iter().any(|word| has(near, word)) {
                true => Framework::Ollama,
                false => Framework::LlamaCpp,
            }),
            Form::VllmCache | Form::VllmLength | Form::VllmStart | Form::VllmProfile => {
                Some(Framework::Vllm)
            }
            Form::SglangCache | Form::SglangPool | Form::SglangSlots | Form::SglangPages => {
                Some(Framework::Sglang)
            }
            _ => of_words(&failure.words),
        },
        Report::Host(_) => None,
        Report::Summary(_) | Report::Devices(_) => return None,
    };
    let is_plain = |framework: &Framework| *framework == Framework::PyTorch;
    let told = by_form.or(traceback.filter(|it| !is_plain(it)));
    let told = told.or_else(by_words).or(traceback);
    match report {
        Report::Failure(failure) if failure.form == Form::Xla => told.or(Some(Framework::Jax)),
        _ => told,
    }
}

/// The framework that an error's words name first.
fn of_words(words: &str) -> Option<Framework> {
    const NAMES: [(&str, Framework); 5] = [
        ("TensorFlow: ", Framework::TensorFlow),
        ("Paddle: ", Framework::Paddle),
        ("ONNX Runtime: ", Framework::OnnxRuntime),
        ("vLLM: ", Framework::Vllm),
        ("Got an OOM", Framework::ComfyUi),
    ];
    let named = NAMES.iter().find(|(name, _)| words.starts_with(name));
    named.map(|(_, framework)| *framework)
}
