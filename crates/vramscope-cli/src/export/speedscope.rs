//! Profiles for speedscope (its file format 0.0.1, <https://www.speedscope.app/file-format-schema.json>).
//!
//! Each device has three: memory live at a moment, all allocations, and memory still live at the end. They are
//! "sampled" profiles with bytes as weights, which speedscope shows by time order, left heavy and as a sandwich.

use std::collections::HashMap;
use std::io::Write;

use serde::Serialize;
use vramscope_core::analysis::code::frame_groups::GroupId;
use vramscope_core::analysis::time::selection::{Selection, Weight};

use super::stacks::{Frames, moment, nothing};
use super::{Asked, WRITER, damage_lines, failed, write_json};
use crate::failure::Failure;
use crate::subject::Subject;

#[derive(Serialize)]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: String,
    #[serde(rename = "activeProfileIndex")]
    active_profile: usize,
    shared: Shared<'a>,
    profiles: Vec<Profile>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile {
    r#type: &'static str,
    name: String,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    /// Indices of the shared frames, outermost first.
    samples: Vec<Vec<u32>>,
    weights: Vec<u64>,
}

/// Writes all profiles.
///
/// # Errors
/// When there is no such moment, or nothing was allocated.
pub(super) fn write(subject: &Subject, asked: &Asked, out: &mut dyn Write) -> Result<(), Failure> {
    let at = asked.at.as_deref();
    let frames = Frames::of(subject);
    let mut shared = Numbers::default();
    let mut profiles = Vec::new();
    for device in subject.devices() {
        let (moment, name) = moment(&device, at)?;
        let end = device.history.event_count;
        let questions = [
            (Selection::LiveAt(moment), name.as_str()),
            (Selection::All, "all allocations"),
            (Selection::LiveAt(end), "still live at the end"),
        ];
        for (selection, name) in questions {
            let paths = frames.paths(&device, selection, Weight::Bytes);
            let (samples, weights): (Vec<_>, Vec<_>) = paths
                .iter()
                .filter(|(_, sums)| sums.weight > 0)
                .map(|(path, sums)| (shared.of(path), sums.weight))
                .unzip();
            if weights.is_empty() {
                continue;
            }
            profiles.push(Profile {
                r#type: "sampled",
                name: format!("device {}: {name}", device.index()),
                unit: "bytes",
                start_value: 0,
                end_value: paths.total().weight,
                samples,
                weights,
            });
        }
    }
    if profiles.is_empty() {
        return Err(nothing(subject));
    }
    let named: Vec<_> = shared
        .groups
        .iter()
        .map(|&group| frames.named(group))
        .collect();
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: WRITER,
        name: name(subject),
        active_profile: 0,
        shared: Shared {
            frames: named
                .iter()
                .map(|frame| Frame {
                    name: frame.label,
                    file: frame.file,
                    line: (frame.line > 0).then_some(frame.line),
                })
                .collect(),
        },
        profiles,
    };
    write_json(out, &file)?;
    writeln!(out).map_err(failed)
}

/// The name of the file, with what is damaged in it.
fn name(subject: &Subject) -> String {
    let damage = damage_lines(subject);
    match damage.as_slice() {
        [] => subject.name.clone(),
        lines => format!("{} (damaged: {})", subject.name, lines.join("; ")),
    }
}

/// The frames that occur, numbered in order of first use.
#[derive(Default)]
struct Numbers {
    groups: Vec<GroupId>,
    of: HashMap<GroupId, u32>,
}

impl Numbers {
    fn of(&mut self, path: &[GroupId]) -> Vec<u32> {
        let number = |&group: &GroupId| {
            *self.of.entry(group).or_insert_with(|| {
                self.groups.push(group);
                self.groups.len() as u32 - 1
            })
        };
        path.iter().map(number).collect()
    }
}
