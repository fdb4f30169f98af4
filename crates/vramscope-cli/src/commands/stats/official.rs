//! The text of torch's own `stats`, byte for byte.

use std::io::{self, Write};

use vramscope_core::analysis::report::official_summary::{
    Free, OfficialSummary, PAGE_BYTES, official_summary,
};
use vramscope_core::units::TorchBytes;

use crate::arguments::Snapshots;
use crate::failure::Failure;
use crate::inputs::one_by_one;
use crate::output::stream;

/// Prints the text of each file, one after the other.
pub(super) fn run(inputs: &Snapshots) -> Result<(), Failure> {
    one_by_one(inputs, |subject, _| {
        let summary = official_summary(&subject.snapshot).map_err(|error| {
            Failure::Input(format!(
                "{}: torch's stats fail on this file: {error}",
                subject.name
            ))
            .followed_by(["Without --format torch there is a table."])
        })?;
        stream(|out| write(out, &summary))
    })
}

fn write(out: &mut dyn Write, summary: &OfficialSummary) -> io::Result<()> {
    let page = TorchBytes(PAGE_BYTES.into());
    writeln!(out, "Summary of segments >= {page} in size")?;
    for bar in &summary.bars {
        let bytes = TorchBytes(bar.bytes.into());
        let stream = match bar.stream {
            0 => String::new(),
            stream => format!(" stream_{stream}"),
        };
        let free = free_text(bar.free);
        writeln!(
            out,
            "[{}] {bytes} allocated, {free} free{stream}",
            bar.pages
        )?;
    }
    writeln!(out, "segments: {}", summary.segments)?;
    writeln!(
        out,
        "total_reserved: {}",
        TorchBytes(summary.reserved_bytes)
    )?;
    writeln!(
        out,
        "total_allocated: {}",
        TorchBytes(summary.allocated_bytes)
    )?;
    writeln!(out, "total_free: {}", free_text(summary.free))?;
    write!(
        out,
        "
Legend:
    [a     ] - a segment in the allocator
     ^-- a page {page} of memory in the segment
    a-z: pages filled with a single block's content
    ' ': page is completely free
    *: page if completely full with multiple blocks
    0-9: page is partially full with tensors of multiple blocks (9 == 90% full)
    (X% internal) - of the free memory, X% is free because we rounded the size of the allocation.
"
    )
}

fn free_text(free: Free) -> String {
    let bytes = TorchBytes(free.bytes());
    match free.internal_percent() {
        Some(percent) => format!("{bytes} ({percent:.1}% internal)"),
        None => bytes.to_string(),
    }
}
