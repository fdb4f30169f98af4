//! Concludes why memory ran out, as far as a record's figures show it.
//!
//! Figures are rounded, so comparisons use bounds: a certain conclusion holds for every size that prints like the figure.
//! Missing figures support no conclusion: a text that is cut off leads to fewer causes, never to others.

mod host;
mod share;
mod torch;

use serde::Serialize;
use vramscope_core::analysis::report::causes::CauseClass;
use vramscope_core::analysis::report::findings::{Verdict, sentences};
use vramscope_core::units::Bytes;

pub use self::share::{Share, ShareOf};

use crate::advice::need_less;
use crate::figure::Figure;
use crate::forms::driver::{ABSURD, TOO_LARGE_FOR_VULKAN};
use crate::forms::xla::ONE_REQUEST;
use crate::record::{Failure, Form, Record, Report};

/// Why memory ran out. Classes that a snapshot can show too are named as in [`CauseClass`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The process may use only a part of the device, or was refused memory that the device had.
    Limit,
    /// Other processes hold much of the device.
    OtherProcesses,
    /// A request is larger than all the memory that the program could have had.
    RequestTooLarge,
    /// Private pools hold memory that nothing else can use.
    PrivatePool,
    /// Free memory is in pieces that are too small.
    Fragmentation,
    /// The live memory is needed at once: the program itself is too large.
    TooMuchLive,
    /// No addresses were left, though memory was.
    VirtualAddresses,
    /// The computer's memory ran out, not the device's.
    HostMemory,
    /// The text does not show the reason.
    Unknown,
}

impl Class {
    /// The corresponding class of causes in snapshots.
    #[must_use]
    pub fn of_snapshots(self) -> Option<CauseClass> {
        Some(match self {
            Self::Limit => CauseClass::Limit,
            Self::OtherProcesses => CauseClass::OtherProcesses,
            Self::RequestTooLarge => CauseClass::RequestTooLarge,
            Self::PrivatePool => CauseClass::PrivatePool,
            Self::Fragmentation => CauseClass::Fragmentation,
            Self::TooMuchLive => CauseClass::TooMuchLive,
            Self::VirtualAddresses => CauseClass::VirtualAddresses,
            Self::HostMemory | Self::Unknown => return None,
        })
    }
}

/// The certainty of a cause.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sure {
    /// It follows from the figures, however they were rounded.
    Certain,
    /// The figures show it, but something that they do not show may be different.
    Likely,
    /// The figures allow it.
    Possible,
}

impl Sure {
    /// The word in output.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Certain => "certain: it follows from the figures",
            Self::Likely => "likely",
            Self::Possible => "possible, not certain",
        }
    }
}

/// A cause with its figures.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Cause {
    /// The class.
    pub class: Class,
    /// The certainty.
    pub sure: Sure,
    /// The class in a few words, as for snapshots.
    pub why: &'static str,
    /// One line, without its stop.
    pub title: String,
    /// The evidence, as sentences; may be empty.
    pub seen: String,
    /// What to try, one sentence each.
    pub to_try: Vec<String>,
}

impl Cause {
    fn new(class: Class, sure: Sure, verdict: Verdict, title: String) -> Self {
        Self {
            class,
            sure,
            why: verdict.words(),
            title,
            seen: verdict.means().to_owned(),
            to_try: verdict
                .to_try()
                .iter()
                .map(|&text| text.to_owned())
                .collect(),
        }
    }

    /// The complete explanation: the title and the evidence.
    #[must_use]
    pub fn explanation(&self) -> String {
        format!("{}. {}", self.title, self.seen)
            .trim_end()
            .to_owned()
    }

    fn unknown(title: &str, seen: &str) -> Self {
        Self {
            class: Class::Unknown,
            sure: Sure::Possible,
            why: Verdict::Unknown.words(),
            title: title.to_owned(),
            seen: seen.to_owned(),
            to_try: Vec::new(),
        }
    }
}

/// The conclusion from a record.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Conclusion {
    /// The causes, most certain first. At least one, which may be that the text does not show the reason.
    pub causes: Vec<Cause>,
    /// How the device is divided, as parts that add up to it; empty if the text does not show it.
    pub shares: Vec<Share>,
}

impl Conclusion {
    /// The first cause.
    #[must_use]
    pub fn main(&self) -> &Cause {
        &self.causes[0]
    }
}

/// The conclusion from a record; `None` for tables, in which nothing failed.
#[must_use]
pub fn conclude(record: &Record) -> Option<Conclusion> {
    let mut conclusion = match &record.report {
        Report::Failure(failure) => Conclusion {
            causes: of_failure(failure),
            shares: share::shares(failure),
        },
        Report::Host(failure) => Conclusion {
            causes: vec![host::cause(failure)],
            shares: Vec::new(),
        },
        Report::Summary(_) | Report::Devices(_) => return None,
    };
    conclusion.causes.sort_by_key(|cause| cause.sure);
    if conclusion.causes.is_empty() {
        conclusion.causes.push(Cause::unknown(
            "The text does not say why",
            "Its figures fit several causes, or the message is cut off.",
        ));
    }
    for cause in &mut conclusion.causes {
        let is_of_size = cause.class == Class::TooMuchLive;
        if let Some(text) = need_less(record, is_of_size) {
            cause.to_try.insert(0, text.to_owned());
        }
    }
    Some(conclusion)
}

fn of_failure(failure: &Failure) -> Vec<Cause> {
    match failure.form {
        Form::Torch => torch::causes(failure),
        Form::TorchAsync => torch::async_causes(failure),
        Form::TorchMps => torch::mps_causes(failure),
        Form::Driver | Form::Other => vec![of_driver(failure)],
        Form::Addresses => vec![of_addresses()],
        Form::Ggml => of_ggml(failure),
        Form::Xla => of_xla(failure),
        Form::VllmCache => vec![Cause {
            seen: "vLLM may take the share of the device that --gpu-memory-utilization names. Weights and activations used it up \
                   before the KV cache got any: the share is too small, or the model too large for it."
                .to_owned(),
            to_try: vec![
                "Raise --gpu-memory-utilization, if nothing else needs the device; lower --max-num-batched-tokens and --max-num-seqs, which \
                 activations grow with; or use more GPUs (--tensor-parallel-size) or a quantized model."
                    .to_owned(),
            ],
            ..Cause::new(
                Class::Limit,
                Sure::Possible,
                Verdict::Limit,
                "Nothing of the share that vLLM may use was left for the KV cache".to_owned(),
            )
        }],
        Form::SglangCache => vec![Cause {
            seen: "SGLang may take the share of the device that --mem-fraction-static names, for weights and KV cache. Nothing of it was left \
                   for the cache: the share is too small, or the model too large for it."
                .to_owned(),
            to_try: vec![
                "Raise --mem-fraction-static, if nothing else needs the device (lower it only where SGLang runs out while it serves); or use \
                 more GPUs (--tp) or a quantized model."
                    .to_owned(),
            ],
            ..Cause::new(
                Class::Limit,
                Sure::Possible,
                Verdict::Limit,
                "Nothing of the share that SGLang may use was left for the KV cache".to_owned(),
            )
        }],
        Form::VllmLength => of_length(failure),
        Form::VllmStart => of_start(failure),
    }
}

/// An error without an allocator's figures.
fn of_driver(failure: &Failure) -> Cause {
    let wanted = failure.requested.as_ref().map(|figure| figure.bytes);
    if failure.words == ABSURD {
        let title = "A request for more than 1 EiB: its size is wrong".to_owned();
        let verdict = Verdict::RequestTooLarge;
        return Cause::new(Class::RequestTooLarge, Sure::Certain, verdict, title);
    }
    if let Some(wanted) = wanted.filter(|&wanted| wanted >= largest_card()) {
        let sure = match wanted >= NO_DEVICE_HAS {
            true => Sure::Certain,
            false => Sure::Likely,
        };
        let title = format!("A request for {}, in one piece", Bytes(wanted));
        let verdict = Verdict::RequestTooLarge;
        return Cause::new(Class::RequestTooLarge, sure, verdict, title);
    }
    let free = failure.free.as_ref().map(|figure| figure.bytes);
    // Paddle says what it holds itself. If that is little, others are the reason.
    if let (Some(wanted), Some(free), Some(held)) = (wanted, free, &failure.allocated)
        && free < wanted
        && held.bytes / 2 > free.saturating_add(wanted)
    {
        let title = sentences::live(Bytes(held.bytes), None, torch::WHEN);
        return Cause::new(Class::TooMuchLive, Sure::Likely, Verdict::Short, title);
    }
    let title = match (wanted, free) {
        (Some(wanted), Some(free)) => format!(
            "{} were asked for, and {} were free; the text does not say who had the rest",
            Bytes(wanted),
            Bytes(free)
        ),
        (Some(wanted), None) => format!(
            "{} were asked for; the text does not say who had the device, or how much was left",
            Bytes(wanted)
        ),
        _ if failure.form == Form::Other => format!(
            "{}; the text does not say how much was left, or who had the device",
            failure.words
        ),
        _ => "The driver had no memory left, and does not say how much was asked for or who had it"
            .to_owned(),
    };
    Cause::unknown(
        &title,
        match failure.words.contains("CUBLAS") {
            true => {
                "cuBLAS also says so after an earlier kernel failed, such as by an index out of range: CUDA_LAUNCH_BLOCKING=1 shows it."
            }
            false => "",
        },
    )
}

fn of_addresses() -> Cause {
    let title = "No virtual addresses were left for expandable segments, though memory was";
    let verdict = Verdict::VirtualAddresses;
    Cause::new(
        Class::VirtualAddresses,
        Sure::Certain,
        verdict,
        title.to_owned(),
    )
}

/// vLLM: a single request of full length needs more cache than there is.
fn of_length(failure: &Failure) -> Vec<Cause> {
    let title = match (&failure.requested, &failure.free) {
        (Some(needed), Some(left)) => format!(
            "One request of full length needs {} of KV cache, and {} were left for it",
            Bytes(needed.bytes),
            Bytes(left.bytes)
        ),
        // Older versions count tokens.
        _ => failure.words.clone(),
    };
    vec![Cause {
        seen: "This is vLLM's own arithmetic before it serves; nothing was allocated in vain.".to_owned(),
        to_try: vec![
            "Lower --max-model-len to what you need, or give the cache more room: more GPUs (--tensor-parallel-size), a higher \
             --gpu-memory-utilization, --kv-cache-dtype fp8."
                .to_owned(),
        ],
        ..Cause::new(
            Class::RequestTooLarge,
            Sure::Certain,
            Verdict::RequestTooLarge,
            title,
        )
    }]
}

/// vLLM: less is free at the start than it is configured to take.
fn of_start(failure: &Failure) -> Vec<Cause> {
    let (Some(total), Some(free)) = (&failure.total, &failure.free) else {
        return Vec::new();
    };
    let held = total.bytes.saturating_sub(free.bytes);
    let wanted = failure.requested.as_ref().map_or(0, |figure| figure.bytes);
    // The process's own context takes some.
    let is_little = held < total.bytes / 8;
    let (class, verdict, title) = match is_little {
        true => (
            Class::Limit,
            Verdict::Limit,
            format!(
                "vLLM is set to take {} more than the {} that are free",
                Bytes(wanted.saturating_sub(free.bytes)),
                Bytes(free.bytes)
            ),
        ),
        false => (
            Class::OtherProcesses,
            Verdict::Others,
            sentences::others("held", Bytes(held)),
        ),
    };
    let seen = format!(
        "Before vLLM loaded anything, {} of {} were free.",
        Bytes(free.bytes),
        Bytes(total.bytes)
    );
    let hundredths = u128::from(free.bytes) * 100 / u128::from(total.bytes.max(1));
    let hundredths = hundredths.min(99);
    let mut to_try = vec![format!(
        "End what else is on the device (an earlier vLLM that did not end well stays there), or lower --gpu-memory-utilization to \
         the share that is free: 0.{hundredths:02}."
    )];
    if !is_little {
        to_try.extend(verdict.to_try().first().map(|&text| text.to_owned()));
    }
    vec![Cause {
        seen,
        to_try,
        ..Cause::new(class, Sure::Likely, verdict, title)
    }]
}

/// More than any device has, in bytes.
const NO_DEVICE_HAS: u64 = 1 << 40;

/// llama.cpp: the request is known, and what the device had before if the log has it.
fn of_ggml(failure: &Failure) -> Vec<Cause> {
    if failure.words == TOO_LARGE_FOR_VULKAN {
        return vec![of_vulkan(failure.requested.as_ref())];
    }
    let Some(wanted) = &failure.requested else {
        return Vec::new();
    };
    let room = failure.free.as_ref().map(|free| free.bytes);
    let sure = match &failure.free {
        Some(free) if wanted.least() > free.most() => Some(Sure::Certain),
        _ if wanted.bytes >= NO_DEVICE_HAS => Some(Sure::Certain),
        None if wanted.bytes >= largest_card() => Some(Sure::Likely),
        _ => None,
    };
    match sure {
        Some(sure) => {
            let title = match room {
                Some(room) => sentences::too_large(Bytes(wanted.bytes), Bytes(room)),
                None => format!("A request for {}, in one piece", Bytes(wanted.bytes)),
            };
            vec![Cause::new(
                Class::RequestTooLarge,
                sure,
                Verdict::RequestTooLarge,
                title,
            )]
        }
        None => vec![Cause::unknown(
            "The device did not have what a buffer needs, and the text does not say what it had",
            match room {
                Some(_) => {
                    "The free memory is from before the model was loaded; later lines show what weights, KV cache and compute buffers took."
                }
                None => {
                    "llama.cpp's lines from its start on show what weights, KV cache and compute buffers take."
                }
            },
        )],
    }
}

/// llama.cpp did not even ask Vulkan's driver.
fn of_vulkan(wanted: Option<&Figure>) -> Cause {
    let title = match wanted {
        Some(wanted) => format!(
            "A buffer of {} is more than the driver allocates in one piece",
            Bytes(wanted.bytes)
        ),
        None => "A buffer is larger than the driver allocates in one piece".to_owned(),
    };
    Cause {
        class: Class::Limit,
        sure: Sure::Certain,
        why: "larger than one allocation may be",
        title,
        seen: "Vulkan's driver says how large one allocation may be, and was not asked for this one: what is free does not matter."
            .to_owned(),
        to_try: vec![
            "Make the buffer smaller: a smaller -ub and -b for the compute buffer, a shorter context (-c) for the KV cache. \
             GGML_VK_FORCE_MAX_ALLOCATION_SIZE=BYTES sets another limit, which the driver may not keep."
                .to_owned(),
        ],
    }
}

/// The memory of the largest known device, in bytes.
fn largest_card() -> u64 {
    288 << 30
}

/// XLA: the program's need is known, but for GPUs not the device's memory.
fn of_xla(failure: &Failure) -> Vec<Cause> {
    let Some(needed) = &failure.requested else {
        return Vec::new();
    };
    if let Some(total) = &failure.total {
        let title = format!(
            "The program needs {} at once, and the device has {}",
            Bytes(needed.bytes),
            Bytes(total.bytes)
        );
        let sure = match needed.least() > total.most() {
            true => Sure::Certain,
            false => Sure::Likely,
        };
        return vec![xla_cause(Class::TooMuchLive, sure, Verdict::Short, title)];
    }
    if let Some(free) = &failure.free {
        let title = format!(
            "The program needs {} at once, and {} were free; the text does not say who had the rest",
            Bytes(needed.bytes),
            Bytes(free.bytes)
        );
        return vec![xla_cause(
            Class::TooMuchLive,
            Sure::Possible,
            Verdict::Short,
            title,
        )];
    }
    if needed.bytes >= NO_DEVICE_HAS {
        let title = format!("A request for {}: no device has that", Bytes(needed.bytes));
        return vec![xla_cause(
            Class::RequestTooLarge,
            Sure::Certain,
            Verdict::RequestTooLarge,
            title,
        )];
    }
    vec![of_xla_alone(failure, needed)]
}

/// The same if the text has no figure of the device.
fn of_xla_alone(failure: &Failure, needed: &Figure) -> Cause {
    let in_all = failure.allocated.as_ref();
    let whole = in_all.map_or(needed.bytes, |whole| whole.bytes.max(needed.bytes));
    let is_one = failure.words == ONE_REQUEST;
    if whole < 1 << 30 && !is_one {
        let title = format!(
            "The program needs only {}: others, or arrays of earlier programs, held the device",
            Bytes(whole)
        );
        let mut cause = xla_cause(
            Class::OtherProcesses,
            Sure::Possible,
            Verdict::Others,
            title,
        );
        cause.to_try.push("JAX takes three quarters of a device when it starts: another JAX, or TensorFlow, finds nothing left. XLA_PYTHON_CLIENT_PREALLOCATE=false or XLA_PYTHON_CLIENT_MEM_FRACTION=.4 leaves room.".to_owned());
        return cause;
    }
    let what = match is_one {
        true => "One request was for",
        false => "The program needs",
    };
    let title = format!(
        "{what} {}; the text does not say what the device has",
        Bytes(whole)
    );
    xla_cause(Class::TooMuchLive, Sure::Possible, Verdict::Short, title)
}

fn xla_cause(class: Class, sure: Sure, verdict: Verdict, title: String) -> Cause {
    let mut cause = Cause::new(class, sure, verdict, title);
    cause.seen.clear();
    if class == Class::TooMuchLive {
        cause.to_try = vec![
            "Look at the largest buffers: their lines made them.".to_owned(),
            "A smaller batch, jax.checkpoint around what is recomputed cheaply, donated arguments (donate_argnums), or sharding."
                .to_owned(),
        ];
    }
    cause
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_snapshots_have_the_same_names() {
        let all = [
            Class::Limit,
            Class::OtherProcesses,
            Class::RequestTooLarge,
            Class::PrivatePool,
            Class::Fragmentation,
            Class::TooMuchLive,
        ];
        for class in all {
            let same = format!("{:?}", class.of_snapshots().unwrap());
            assert_eq!(format!("{class:?}"), same);
        }
    }
}
