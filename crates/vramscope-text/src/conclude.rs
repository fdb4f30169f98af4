//! Concludes why memory ran out, as far as a record's figures show it.
//!
//! Figures are rounded, so comparisons use bounds: a certain conclusion holds for every size that prints like the figure.
//! Missing figures support no conclusion: a text that is cut off leads to fewer causes, never to others.

mod devices;
mod host;
mod serve;
mod share;
mod torch;
mod xla;

use serde::Serialize;
use vramscope_core::analysis::report::causes::CauseClass;
use vramscope_core::analysis::report::findings::{Verdict, sentences};
use vramscope_core::units::Bytes;

pub use self::share::{Share, ShareOf};

use crate::advice::{is_server, need_less};
use crate::figure::Figure;
use crate::forms::driver::{ABSURD, TOO_LARGE_FOR_VULKAN, WARM_UP};
use crate::record::{Api, Failure, Form, Record, Report};

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
    /// It follows from the figures, however they were rounded, or the text says so.
    Certain,
    /// The figures show it, but something that they do not show may be different.
    Likely,
    /// The figures allow it.
    Possible,
}

impl Sure {
    fn word(self) -> &'static str {
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
    /// Whether the text itself says so, not only its figures.
    pub is_said: bool,
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
            is_said: false,
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

    /// The certainty in words.
    #[must_use]
    pub fn how_sure(&self) -> &'static str {
        if self.class == Class::Unknown {
            return "the text does not say";
        }
        match self.sure {
            Sure::Certain if self.is_said => "certain: the text says so",
            sure => sure.word(),
        }
    }

    /// The same, as the text itself says.
    fn said(self) -> Self {
        Self {
            is_said: true,
            ..self
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
            is_said: false,
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
            why_unknown(&record.report),
        ));
    }
    for cause in &mut conclusion.causes {
        advise(cause, record);
    }
    Some(conclusion)
}

/// What keeps a failure's figures from showing the cause.
fn why_unknown(report: &Report) -> &'static str {
    let (total, free, wanted) = match report {
        Report::Failure(it) => (&it.total, &it.free, &it.requested),
        _ => (&None, &None, &None),
    };
    match (total, free, wanted) {
        (Some(_), None, _) => {
            "It does not say how much of the device was free, which others may have held."
        }
        (_, Some(free), Some(wanted)) if free.bytes >= wanted.bytes => {
            let far_more = total.as_ref().map(|total| {
                let [free, wanted, total] = [free, wanted, total].map(share::Rest::of);
                torch::has_far_more(free, wanted, total)
            });
            match far_more {
                Some(false) => {
                    "The device reported enough free memory, though not far more: the figure is from after the failure, and drivers keep some."
                }
                _ => {
                    "The device reported enough free memory, but the figure is from after the failure, and drivers keep some."
                }
            }
        }
        _ => "Its figures fit several causes, or the message is cut off.",
    }
}

/// Adapts the advice to the framework and the device.
fn advise(cause: &mut Cause, record: &Record) {
    if is_server(record) {
        // Nothing is trained.
        let of_training = Verdict::Short.to_try();
        cause
            .to_try
            .retain(|text| !of_training.contains(&text.as_str()));
    }
    let is_wanted = match cause.class {
        Class::TooMuchLive => true,
        // Its device has memory left.
        Class::Unknown if is_of(record, Form::SglangPages) => false,
        Class::Unknown => is_server(record) || is_of(record, Form::Other),
        Class::RequestTooLarge => is_of(record, Form::Ggml),
        _ => false,
    };
    if let Some(text) = need_less(record).filter(|_| is_wanted) {
        cause.to_try.insert(0, text.to_owned());
    }
    if let Report::Failure(failure) = &record.report
        && let Some(lists) = lists_processes(failure.api)
    {
        for text in &mut cause.to_try {
            *text = text.replace("nvidia-smi", lists);
        }
    }
}

fn is_of(record: &Record, form: Form) -> bool {
    matches!(&record.report, Report::Failure(failure) if failure.form == form)
}

/// The command that lists the processes on a device, if it is not NVIDIA's.
fn lists_processes(api: Api) -> Option<&'static str> {
    match api {
        Api::Hip => Some("rocm-smi --showpids"),
        Api::Xpu => Some("xpu-smi ps"),
        Api::Npu => Some("npu-smi info"),
        Api::Cuda | Api::Mps | Api::Tpu | Api::Other => None,
    }
}

fn of_failure(failure: &Failure) -> Vec<Cause> {
    match failure.form {
        Form::Torch => torch::causes(failure),
        Form::TorchAsync => devices::of_async(failure),
        Form::TorchMps => devices::of_mps(failure),
        Form::Driver | Form::Other => vec![of_driver(failure)],
        Form::Addresses => vec![of_addresses()],
        Form::Ggml => of_ggml(failure),
        Form::Xla => xla::causes(failure),
        Form::VllmCache => vec![serve::vllm_cache()],
        Form::SglangCache => vec![serve::sglang_cache()],
        Form::SglangPool => vec![serve::sglang_pool(failure)],
        Form::SglangSlots => vec![serve::sglang_slots(failure)],
        Form::SglangPages => vec![serve::sglang_pages(failure)],
        Form::VllmLength => vec![serve::length(failure)],
        Form::VllmStart => serve::start(failure),
        Form::VllmProfile => vec![serve::profile(failure)],
    }
}

/// An error without an allocator's figures.
fn of_driver(failure: &Failure) -> Cause {
    let wanted = failure.requested.as_ref().map(|figure| figure.bytes);
    if failure.words == ABSURD {
        let title = "A request for more than 1 EiB: its size is wrong".to_owned();
        let verdict = Verdict::RequestTooLarge;
        return Cause::new(Class::RequestTooLarge, Sure::Certain, verdict, title).said();
    }
    if failure.may_be_of_host() {
        return of_onnx(wanted);
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
    if let Some(cause) = of_start(failure) {
        return cause;
    }
    let title = match (wanted, free) {
        (Some(wanted), Some(free)) if failure.is_free_of_start() => format!(
            "{} were asked for; {} were free before the program took any",
            Bytes(wanted),
            Bytes(free)
        ),
        (Some(wanted), Some(free)) => format!(
            "{} were asked for, and {} were free; the text does not say who had the rest",
            Bytes(wanted),
            Bytes(free)
        ),
        (Some(wanted), None) => format!(
            "{} were asked for; the message does not say who had the device, or how much was left",
            Bytes(wanted)
        ),
        _ if failure.form == Form::Other || failure.words == WARM_UP => format!(
            "{}; the message does not say how much was left, or who had the device",
            failure.words
        ),
        _ => "The driver had no memory left; its message does not say how much was asked for or who had the device"
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

/// ONNX Runtime's message if it names no device. A computer may have more memory than any device.
fn of_onnx(wanted: Option<u64>) -> Cause {
    let verdict = Verdict::RequestTooLarge;
    match wanted {
        Some(wanted) if wanted >= NO_COMPUTER_HAS => Cause::new(
            Class::RequestTooLarge,
            Sure::Certain,
            verdict,
            format!("A request for {}, in one piece", Bytes(wanted)),
        ),
        _ => {
            let asked = wanted.map(|wanted| format!("{} were asked for; ", Bytes(wanted)));
            let title = format!(
                "{}the message does not say whether of the device's memory or of the computer's own",
                asked.unwrap_or_default()
            );
            Cause::unknown(
                &title,
                "ONNX Runtime says the same on the CPU, so it may be the computer's memory that ran out.",
            )
        }
    }
}

/// TensorFlow reports what is free when it finds a device, and asks for most of it: if others held much then, they may be the
/// reason. But it asks again with less, and its own context is not free either.
fn of_start(failure: &Failure) -> Option<Cause> {
    let figures = (&failure.requested, &failure.total, &failure.free);
    let (Some(wanted), Some(total), Some(free)) = figures else {
        return None;
    };
    let held = total.bytes.saturating_sub(free.bytes);
    let is_most = wanted.bytes >= free.bytes / 10 * 9 && wanted.bytes <= total.bytes;
    // The process's own context takes some.
    let is_much = held >= total.bytes / 8 && held >= 1 << 30;
    (failure.is_free_of_start() && is_most && is_much).then(|| Cause {
        why: "held by others, or by its own context",
        seen: "TensorFlow asks for nearly all that is free, and when the driver refuses, again with a tenth less, so a refusal need not be a \
               failure. What was not free is what other processes held, and the context of this one."
            .to_owned(),
        ..Cause::new(
            Class::OtherProcesses,
            Sure::Possible,
            Verdict::Others,
            format!(
                "Before the program took any, {} of {} were free: others may have held up to {}",
                Bytes(free.bytes),
                Bytes(total.bytes),
                Bytes(held)
            ),
        )
    })
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
    .said()
}

/// More than any device has, in bytes.
const NO_DEVICE_HAS: u64 = 1 << 40;

/// More than any computer has, in bytes.
const NO_COMPUTER_HAS: u64 = 64 << 40;

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
    let mut cause = one_piece(Sure::Certain, title).said();
    "Vulkan's driver says how large one allocation may be, and was not asked for this one: what is free does not matter."
        .clone_into(&mut cause.seen);
    cause.to_try = vec![
        "Make the buffer smaller: a smaller -ub and -b for the compute buffer, a shorter context (-c) for the KV cache. \
         GGML_VK_FORCE_MAX_ALLOCATION_SIZE=BYTES sets another limit, which the driver may not keep."
            .to_owned(),
    ];
    cause
}

/// A request that is larger than one allocation may be.
fn one_piece(sure: Sure, title: String) -> Cause {
    Cause {
        why: "larger than one allocation may be",
        seen: String::new(),
        to_try: Vec::new(),
        ..Cause::new(Class::Limit, sure, Verdict::Limit, title)
    }
}

/// The memory of the largest known device, in bytes.
fn largest_card() -> u64 {
    288 << 30
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
