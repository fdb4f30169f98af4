//! A snapshot that was written, and what is said about it.

use std::path::Path;

use vramscope_core::Snapshot;
use vramscope_core::analysis::history::History;
use vramscope_core::model::{DeviceIndex, Stage};
use vramscope_core::units::{Bytes, Count};
use vramscope_record::snapshot::Report;

use crate::destination::Destination;
use crate::failure::Failure;

/// Notes of a recording that are told; all are in the snapshot.
const MOST_NOTES: usize = 5;

/// What was written, and what it holds.
pub(crate) struct Made {
    destination: Destination,
    file_bytes: u64,
    /// Per device that holds or held anything: how much at most, in words.
    peaks: Vec<String>,
    ranges: u64,
    report: Report,
}

impl Made {
    /// Writes a snapshot.
    ///
    /// # Errors
    /// When that is not possible.
    pub(crate) fn write(
        snapshot: &Snapshot,
        report: Report,
        destination: &Destination,
    ) -> Result<Self, Failure> {
        let file_bytes = destination.write(snapshot)?;
        let devices = 0..snapshot.traces.len();
        let peaks = devices.filter_map(|device| peak(snapshot, u32::try_from(device).ok()?));
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

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.destination.path()
    }

    /// What is said about it: a line, and further ones for what is missing in it.
    pub(crate) fn text(&self) -> String {
        let events = count(self.report.events, "event");
        let mut text = format!(
            "{} ({}): {events}",
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
                "\n  {} found no room in the log: --cap gives it more, --max-entries keeps the newest",
                count(self.report.dropped_records, "further record"),
            ));
        }
        for note in self.report.notes.iter().take(MOST_NOTES) {
            text.push_str(&format!("\n  {note}"));
        }
        if self.report.notes.len() > MOST_NOTES {
            text.push_str(&format!(
                "\n  and {} more notes, which the snapshot holds",
                self.report.notes.len() - MOST_NOTES
            ));
        }
        text
    }
}

/// The highest total of live bytes on a device; without history, the one at the end.
fn peak(snapshot: &Snapshot, device: DeviceIndex) -> Option<String> {
    let history = History::of(snapshot, device);
    let peak = history.active_bytes_at(history.peak_moment);
    let what = match snapshot.trace(device).is_empty() {
        true => "in use",
        false => "peak",
    };
    (peak > 0).then(|| format!("{what} {} on device {device}", Bytes(peak)))
}

/// `1 event`, `1,234 events`.
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
