//! Wording for devices other than CUDA: the functions of torch that the texts of `report` name have other modules there.

use crate::analysis::report::facts::Fact;
use crate::analysis::report::findings::Finding;
use crate::model::{DeviceIndex, DeviceKind, Snapshot};

/// The module of the functions that texts name.
const CUDA_MODULE: &str = "torch.cuda.";

/// Names the module of a device of this kind instead.
fn reword<'a>(texts: impl IntoIterator<Item = &'a mut String>, kind: DeviceKind) {
    let module = match kind {
        DeviceKind::Npu => "torch.npu.",
        DeviceKind::Xpu => "torch.xpu.",
        _ => return,
    };
    for text in texts {
        *text = text.replace(CUDA_MODULE, module);
    }
}

/// Adapts the texts of facts to their device; facts about the file, to the first device.
pub(super) fn of_facts(snapshot: &Snapshot, facts: &mut [Fact]) {
    let first = snapshot.devices().first().copied().unwrap_or(0);
    for fact in facts {
        let kind = snapshot.device_kind(fact.device.unwrap_or(first));
        reword([&mut fact.text, &mut fact.meaning, &mut fact.advice], kind);
    }
}

/// Adapts the texts of findings to their device.
pub(super) fn of_findings(snapshot: &Snapshot, device: DeviceIndex, findings: &mut [Finding]) {
    let kind = snapshot.device_kind(device);
    for finding in findings {
        let setting = finding.setting.as_mut().map(|setting| &mut setting.advice);
        let texts = [&mut finding.title, &mut finding.seen, &mut finding.may_mean];
        let texts = texts.into_iter().chain(setting);
        reword(texts.chain(&mut finding.to_try), kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_those_of_the_device() {
        let mut text = "Call torch.cuda.empty_cache().".to_owned();
        reword([&mut text], DeviceKind::Unknown);
        assert_eq!(text, "Call torch.cuda.empty_cache().");
        reword([&mut text], DeviceKind::Npu);
        assert_eq!(text, "Call torch.npu.empty_cache().");
    }
}
