//! A written snapshot and the message about it.

use std::path::Path;

use vramscope_core::Snapshot;
use vramscope_core::analysis::time::history::History;
use vramscope_core::model::{DeviceIndex, Stage};
use vramscope_core::units::{Bytes, Count};
use vramscope_record::layout::Loss;
use vramscope_record::snapshot::Report;

use crate::destination::Destination;
use crate::failure::Failure;

/// Maximum number of notes in the message. The snapshot has all of them.
const MAX_NOTES: usize = 5;

/// A snapshot that was written, with figures about its content.
pub(crate) struct WrittenSnapshot {
    destination: Destination,
    file_bytes: u64,
    /// Peak memory of each device that ever held any, as text.
    peaks: Vec<String>,
    ranges: u64,
    report: Report,
}

impl WrittenSnapshot {
    /// Writes a snapshot.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write(
        snapshot: &Snapshot,
        report: Report,
        destination: &Destination,
    ) -> Result<Self, Failure> {
        let file_bytes = destination.write(snapshot)?;
        let devices = 0..snapshot.traces.len();
        let peaks = devices.filter_map(|device| peak_text(snapshot, u32::try_from(device).ok()?));
        let annotations = snapshot.annotations.rows.iter();
        let ranges = annotations.filter(|annotation| annotation.stage == Stage::Start);
        Ok(Self {
            destination: destination.clone(),
            file_bytes,
            peaks: peaks.collect(),
            ranges: ranges.count() as u64,
            report,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.destination.path()
    }

    /// The message for the user: a line with figures, and a line for everything that is missing.
    pub(crate) fn message(&self) -> String {
        // Not events: one call may become several in the snapshot, or none.
        let calls = count(self.report.events, "call");
        let mut text = format!(
            "{} ({}): {calls}",
            self.path().display(),
            Bytes(self.file_bytes)
        );
        if self.ranges > 0 {
            text.push_str(&format!(", {}", count(self.ranges, "range")));
        }
        for peak in &self.peaks {
            text.push_str(&format!(", {peak}"));
        }
        if self.report.dropped_records > 0 {
            text.push_str(&format!(
                "\n  {} did not fit into the log: a larger --cap keeps more, --max-entries keeps the newest",
                count(self.report.dropped_records, "further record"),
            ));
        }
        for &(loss, times) in &self.report.lost {
            text.push_str(&format!("\n  {}", incomplete(loss, times)));
        }
        for note in self.report.notes.iter().take(MAX_NOTES) {
            text.push_str(&format!("\n  {note}"));
        }
        if self.report.notes.len() > MAX_NOTES {
            text.push_str(&format!(
                "\n  and {}, to be found in the snapshot",
                count((self.report.notes.len() - MAX_NOTES) as u64, "more note")
            ));
        }
        text
    }
}

/// A line about something that was not recorded, or only in part.
pub(crate) fn incomplete(loss: Loss, times: u64) -> String {
    let times = match times {
        1 => "once".to_owned(),
        _ => count(times, "time"),
    };
    format!("incomplete: {} ({times})", loss.text())
}

/// Peak bytes on a device, as text; without history, the bytes at the end.
fn peak_text(snapshot: &Snapshot, device: DeviceIndex) -> Option<String> {
    let history = History::of(snapshot, device);
    let peak = history.peak_bytes();
    let what = match snapshot.trace(device).is_empty() {
        true => "in use",
        false => "peak",
    };
    (peak > 0).then(|| format!("{what} {} on device {device}", Bytes(peak)))
}

/// A number with its noun: `1 event`, `1,234 events`.
pub(crate) fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", Count(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        for (number, text) in [
            (0, "0 events"),
            (1, "1 event"),
            (999, "999 events"),
            (1_234_567, "1,234,567 events"),
        ] {
            assert_eq!(count(number, "event"), text);
        }
    }
}
