//! The advice to try a change of the program before paying for a GPU. All advice that ends in "make it smaller" has it.

use crate::analysis::code::frames::{FrameClass, classify};
use crate::analysis::memory::capacity::stated;
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::recording::Device;
use crate::ids::StackId;
use crate::model::Snapshot;
use crate::units::Bytes;

/// Number of stacks to search for the program's file, because stacks of threads do not have it.
const STACKS: usize = 1000;

/// The line for a program that may use `capacity_bytes`, and is started as `script`, each if known.
fn try_the_change(capacity_bytes: Option<u64>, script: Option<&str>) -> String {
    let gpu = capacity_bytes.map_or_else(
        || "CARD".to_owned(),
        |bytes| Bytes(bytes).to_digits(4).replace(' ', ""),
    );
    let script = script.unwrap_or("…");
    format!(
        "Try the change before you pay for a GPU: vramscope dry-run --gpu {gpu} -- python {script}"
    )
}

/// The line for the program of a recording; `None` if it ran without a GPU already, or if torch is not involved.
#[must_use]
pub fn for_program(device: Device<'_>) -> Option<String> {
    let snapshot = device.snapshot();
    let is_torch = AllocatorKind::of(snapshot) == AllocatorKind::Torch;
    let is_asked = is_torch && snapshot.dry_run().is_none();
    is_asked.then(|| try_the_change(stated(snapshot, device.index()), script(snapshot)))
}

/// The file that Python was started with: the outermost module's in any stack, if it belongs to the user and needs no
/// quotes in a shell.
fn script(snapshot: &Snapshot) -> Option<&str> {
    let text = |id| snapshot.strings.get(id);
    let of_stack = |row: usize| {
        let mut frames = snapshot.stacks.frames(StackId::from_index(row)).rev();
        frames.find_map(|frame| {
            let frame = snapshot.frames.get(frame);
            let (name, file) = (text(frame.name), text(frame.filename));
            let is_own = name == "<module>" && classify(name, file) == FrameClass::User;
            is_own.then_some(file)
        })
    };
    let stacks = 0..snapshot.stacks.len().min(STACKS);
    let file = stacks.into_iter().find_map(of_stack)?;
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+".contains(letter);
    let is_script = file.ends_with(".py") && !file.contains("ipykernel_");
    (is_script && file.chars().all(is_plain)).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::recording::Recording;
    use crate::decode;

    /// The line for a recording whose single event has these frames, innermost first.
    fn line(frames: &[(&str, &str)], more: &str) -> Option<String> {
        let frames = frames.iter().map(
            |(name, filename)| serde_json::json!({"name": name, "filename": filename, "line": 3}),
        );
        let frames = serde_json::Value::from_iter(frames);
        let event = format!(
            r#"{{"action": "alloc", "addr": 4096, "size": 512, "stream": 0, "frames": {frames}}}"#
        );
        let json = format!(r#"{{"segments": [], "device_traces": [[{event}]]{more}}}"#);
        let recording = Recording::of(decode(json.as_bytes()).unwrap());
        let device = recording.devices().next().unwrap();
        for_program(device)
    }

    #[test]
    fn the_outermost_module_is_the_program() {
        let said = line(
            &[
                ("forward", "/home/me/model.py"),
                ("<module>", "/home/me/model.py"),
                ("<module>", "/home/me/train.py"),
                ("_run_code", "<frozen runpy>"),
            ],
            r#", "total_memory": 25769803776"#,
        );
        let expected = "Try the change before you pay for a GPU: vramscope dry-run --gpu 24.00GiB -- python /home/me/train.py";
        assert_eq!(said.as_deref(), Some(expected));
    }

    #[test]
    fn a_program_that_the_frames_do_not_tell_is_left_open() {
        for frames in [
            &[("forward", "/home/me/model.py")][..],
            &[("<module>", "/tmp/ipykernel_7/1234.py")],
            &[("<module>", "/home/me/my train.py")],
            &[(
                "<module>",
                "/usr/lib/python3.11/site-packages/pytest/__main__.py",
            )],
        ] {
            let said = line(frames, "").unwrap();
            assert!(said.ends_with("-- python …"), "{said}");
        }
    }

    #[test]
    fn a_dry_run_is_not_told_to_be_one() {
        let dry = r#", "dry_run": {"note": ""}"#;
        assert_eq!(line(&[("<module>", "train.py")], dry), None);
    }
}
