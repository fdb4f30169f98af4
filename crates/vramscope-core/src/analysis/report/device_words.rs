//! Wording for devices other than CUDA. The texts in `report` are written for CUDA, the device of nearly all files;
//! here the few phrases that name CUDA are replaced.

use std::borrow::Cow;

use crate::analysis::report::facts::Fact;
use crate::analysis::report::findings::Finding;
use crate::model::{DeviceIndex, DeviceKind, Snapshot};

/// Phrases about CUDA, with their counterparts for any device.
const PHRASES: [(&str, &str); 8] = [
    ("from CUDA", "from the device"),
    ("to CUDA", "to the device"),
    ("of CUDA", "of the device"),
    ("asks CUDA", "asks the device"),
    ("asking CUDA", "asking the device"),
    ("CUDA was", "The device was"),
    ("the CUDA context", "the driver"),
    ("CUDA contexts", "contexts of the driver"),
];

/// Whether a device is known to be a CUDA device, so that texts may say so.
#[must_use]
pub fn is_cuda(snapshot: &Snapshot, device: DeviceIndex) -> bool {
    snapshot.device_kind(device) == DeviceKind::Cuda
}

/// Replaces the phrases in a text about a device of this kind.
fn reworded(text: &str, kind: DeviceKind) -> Cow<'_, str> {
    let module = match kind {
        DeviceKind::Npu => Some("torch.npu."),
        DeviceKind::Xpu => Some("torch.xpu."),
        _ => None,
    };
    let phrases = PHRASES.into_iter();
    let module = module.map(|module| ("torch.cuda.", module));
    phrases
        .chain(module)
        .fold(Cow::Borrowed(text), |text, (cuda, other)| {
            match text.contains(cuda) {
                true => Cow::Owned(text.replace(cuda, other)),
                false => text,
            }
        })
}

fn reword(texts: &mut [&mut String], kind: DeviceKind) {
    for text in texts {
        if let Cow::Owned(new) = reworded(text, kind) {
            **text = new;
        }
    }
}

/// Adapts the texts of facts to their device; facts about the file, to the first device.
pub(super) fn of_facts(snapshot: &Snapshot, facts: &mut [Fact]) {
    let first = snapshot.devices().first().copied().unwrap_or(0);
    for fact in facts {
        let kind = snapshot.device_kind(fact.device.unwrap_or(first));
        if kind != DeviceKind::Cuda {
            reword(
                &mut [&mut fact.text, &mut fact.meaning, &mut fact.advice],
                kind,
            );
        }
    }
}

/// Adapts the texts of findings to their device.
pub(super) fn of_findings(snapshot: &Snapshot, device: DeviceIndex, findings: &mut [Finding]) {
    let kind = snapshot.device_kind(device);
    if kind == DeviceKind::Cuda {
        return;
    }
    for finding in findings {
        reword(
            &mut [&mut finding.title, &mut finding.seen, &mut finding.may_mean],
            kind,
        );
        if let Some(setting) = &mut finding.setting {
            reword(&mut [&mut setting.advice], kind);
        }
        finding
            .to_try
            .iter_mut()
            .for_each(|text| reword(&mut [text], kind));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_those_of_the_device() {
        let text = "PyTorch gives segments back to CUDA: call torch.cuda.empty_cache().";
        let npu = "PyTorch gives segments back to the device: call torch.npu.empty_cache().";
        assert_eq!(reworded(text, DeviceKind::Npu), npu);
        let unknown = "PyTorch gives segments back to the device: call torch.cuda.empty_cache().";
        assert_eq!(reworded(text, DeviceKind::Unknown), unknown);
    }
}
