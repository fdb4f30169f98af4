//! Sentences of the page: lives, moments, places. Numbers are formatted by `vramscope_view::display`.

use vramscope_core::analysis::report::details::{EventMark, FxDetails, Life, StackOrigin};
use vramscope_core::model::DeviceIndex;
use vramscope_protocol::{
    Details, DeviceFacts, Failure, FileFacts, MomentFacts, OomMark, Progress, RangeFacts,
    SegmentPreview, Stage,
};
use vramscope_view::display;

use super::{DeviceView, Search, ViewKind};

/// `1 allocation`, `1,204 allocations`.
#[must_use]
pub fn count_of(count: u64, one: &str, several: &str) -> String {
    format!(
        "{} {}",
        display::count(count),
        if count == 1 { one } else { several }
    )
}

/// `40 allocations, 2.10 GiB`.
#[must_use]
pub fn allocations(count: u64, bytes: u64) -> String {
    format!(
        "{}, {}",
        count_of(count, "allocation", "allocations"),
        display::bytes(bytes)
    )
}

/// When live bytes are counted: at the cursor, else at the peak. A state alone has only the dump.
#[must_use]
pub fn live_when(facts: &DeviceFacts, view: &DeviceView) -> &'static str {
    match view.cursor_moment() {
        _ if !facts.has_trace => "at the dump",
        Some(_) => "at the cursor",
        None => "at the peak",
    }
}

/// What the figures of a view that [follows no search but for a memory pool](ViewKind::follows_pools_only) are of, while
/// something is searched for; `None` for other views. `has_failed`: whether requests failed on the device.
#[must_use]
pub fn scope(view: ViewKind, search: &Search, has_failed: bool) -> Option<String> {
    if !search.is_on() || !view.follows_pools_only() {
        return None;
    }
    let Some(pool) = search.pool() else {
        let all = "These figures are of all allocations: the search does not narrow this view.";
        return Some(all.to_owned());
    };
    let of_all = match view {
        ViewKind::Overview if has_failed => " Why requests failed is told for all pools.",
        _ => "",
    };
    let rest = match search.in_pool(None).is_empty() {
        true => "",
        false => " The rest of the search does not narrow this view.",
    };
    Some(format!("{}{of_all}{rest}", of_pools(&pool)))
}

/// What figures are of while a search names memory pools.
#[must_use]
pub fn of_pools(pools: &str) -> String {
    format!("These figures are of {pools} alone.")
}

/// The name of an allocation without a stack, or with a frame without a name.
#[must_use]
pub fn site(frame: &str) -> &str {
    if frame.is_empty() {
        "no stack recorded"
    } else {
        frame
    }
}

/// A device in the selector.
#[must_use]
pub fn device(facts: &DeviceFacts) -> String {
    let peak = if facts.has_trace { "peak " } else { "" };
    format!(
        "{} · {peak}{}",
        facts.name,
        display::bytes(facts.peak_bytes)
    )
}

/// The events, allocations and peak of a device. Within memory pools, events keep their numbers, and so are of all pools.
#[must_use]
pub fn totals(facts: &DeviceFacts, within_pools: bool) -> [String; 3] {
    let events = count_of(u64::from(facts.events), "event", "events");
    let events = match (facts.has_trace, within_pools) {
        (false, _) => "no events recorded".to_owned(),
        (true, false) => events,
        (true, true) => format!("{events} of all pools"),
    };
    let allocations = count_of(u64::from(facts.allocations), "allocation", "allocations");
    let peak = if facts.has_trace { "peak" } else { "live" };
    let peak = format!("{peak} {}", display::bytes(facts.peak_bytes));
    [events, allocations, peak]
}

#[must_use]
pub fn event(mark: EventMark) -> String {
    display::event(u64::from(mark.moment()))
}

/// `event 12 → event 15 · 3 events, 1.20 ms`.
#[must_use]
pub fn life(life: &Life) -> String {
    let start = life
        .alloc
        .map_or_else(|| "before recording".to_owned(), event);
    let end = match (life.free_completed, life.free_requested) {
        (Some(mark), _) => event(mark),
        (None, Some(mark)) => format!("pending free since {}", event(mark)),
        (None, None) => "still live".to_owned(),
    };
    format!("{start} → {end} · {}", lifetime(life))
}

/// `3 events, 1.20 ms`.
#[must_use]
pub fn lifetime(life: &Life) -> String {
    let is_whole = life.alloc.is_some() && life.free_completed.is_some();
    let mut text = if is_whole { "" } else { "more than " }.to_owned();
    text.push_str(&count_of(
        u64::from(life.lifetime.events),
        "event",
        "events",
    ));
    if let Some(us) = life.lifetime.us {
        text.push_str(", ");
        text.push_str(&display::duration(us));
    }
    text
}

/// `segment of 20.0 MiB`, `expandable segment, 1.25 GiB mapped`.
#[must_use]
pub fn segment(preview: &SegmentPreview) -> String {
    let bytes = display::bytes(preview.bytes);
    if preview.is_expandable {
        format!("expandable segment, {bytes} mapped")
    } else {
        format!("segment of {bytes}")
    }
}

/// `before the first event`, `after event 12`.
#[must_use]
pub fn at_moment(moment: u32) -> String {
    match moment {
        0 => "before the first event".to_owned(),
        moment => format!("after {}", display::event(u64::from(moment))),
    }
}

/// `event 12 → still held · 3 events, 1.20 ms`.
#[must_use]
pub fn held(life: &Life) -> String {
    let start = life
        .alloc
        .map_or_else(|| "before recording".to_owned(), event);
    let end = life
        .free_completed
        .map_or_else(|| "still held".to_owned(), event);
    format!("{start} → {end} · {}", lifetime(life))
}

/// The life of a segment's memory; for an expandable one, with the part that it is about.
#[must_use]
pub fn mapped(preview: &SegmentPreview) -> String {
    let life = held(&preview.life);
    if preview.is_expandable {
        format!("{} of it: {life}", display::bytes(preview.piece_bytes))
    } else {
        life
    }
}

/// A pinned allocation in one sentence.
#[must_use]
pub fn pinned(details: &Details) -> String {
    format!(
        "Pinned {}: {}, {}",
        details.known.name,
        display::bytes(details.known.requested_bytes),
        life(&details.known.life)
    )
}

#[must_use]
pub fn moment(moment: &MomentFacts, events: u32) -> String {
    let of = display::count(u64::from(events));
    match moment.moment {
        0 => format!("before the first of {of} events"),
        moment => format!("{} of {of}", display::event(u64::from(moment))),
    }
}

/// `Reading … 12.0 of 100 MiB, 120,000 events`.
#[must_use]
pub fn progress(progress: &Progress) -> String {
    let is_fetched = progress.done_bytes > 0 || progress.total_bytes.is_some();
    if progress.stage == Stage::Fetching && !is_fetched {
        return "Waiting".to_owned();
    }
    let mut text = stage(progress.stage).to_owned();
    text.push_str(" · ");
    text.push_str(&display::bytes(progress.done_bytes));
    if let Some(total) = progress.total_bytes {
        text.push_str(" of ");
        text.push_str(&display::bytes(total));
    }
    if progress.events > 0 {
        text.push_str(" · ");
        text.push_str(&count_of(progress.events, "event", "events"));
    }
    text
}

/// The name of a stage of opening a file.
#[must_use]
pub fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Fetching => "Fetching",
        Stage::Reading => "Reading",
        Stage::Replaying => "Following the allocations",
    }
}

/// The share of bytes done, 0 to 1; `None` if their number is not known.
#[must_use]
pub fn fraction(progress: &Progress) -> Option<f64> {
    let total = progress.total_bytes.filter(|total| *total > 0)?;
    Some((progress.done_bytes as f64 / total as f64).min(1.0))
}

/// The first bytes of a file, 16 a line: offset, hex, text.
#[must_use]
pub fn hex_dump(head: &[u8]) -> String {
    let mut text = String::new();
    for (line, bytes) in head.chunks(16).enumerate() {
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let shown = |byte: &u8| {
            if (0x20..0x7f).contains(byte) {
                char::from(*byte)
            } else {
                '.'
            }
        };
        let plain: String = bytes.iter().map(shown).collect();
        text.push_str(&format!(
            "{:08x}  {:<47}  {plain}\n",
            line * 16,
            hex.join(" ")
        ));
    }
    text
}

/// The known places of a fault in a file, as names and values.
#[must_use]
pub fn failure_places(failure: &Failure) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    if !failure.format.is_empty() {
        rows.push(("Recognised", failure.format.clone()));
    }
    if let Some(offset) = failure.offset {
        rows.push(("At byte", display::count(offset)));
    }
    if !failure.path.is_empty() {
        rows.push(("In", failure.path.clone()));
    }
    rows
}

/// All of a failure as text for the clipboard.
#[must_use]
pub fn failure_text(name: &str, failure: &Failure) -> String {
    let mut text = format!("{name}: {}\n{}\n", failure.message, failure.advice);
    for (what, value) in failure_places(failure) {
        text.push_str(&format!("{what}: {value}\n"));
    }
    if !failure.head.is_empty() {
        text.push_str(&hex_dump(&failure.head));
    }
    text
}

/// The sentence in place of a missing stack.
pub const NO_STACK: &str = "No stack was recorded: the memory is older than the recording, or the recording was made without \
     stacks. _record_memory_history(context=\"all\", stacks=\"all\"), called before the model is built, keeps all of them.";

/// The heading of a stack, by the record that it comes from.
#[must_use]
pub fn stack_title(origin: Option<StackOrigin>) -> &'static str {
    match origin {
        None | Some(StackOrigin::Alloc) => "Allocated by",
        Some(StackOrigin::Block) => "Allocated by (from the final state)",
        Some(StackOrigin::Free) => "Freed by (the allocation was not recorded)",
    }
}

/// `2.00 MiB, 512 bytes of it rounding`.
#[must_use]
pub fn block(bytes: u64, block_bytes: u64) -> String {
    match block_bytes.saturating_sub(bytes) {
        0 => format!("{}, no rounding", display::bytes(block_bytes)),
        rounding => format!(
            "{}, {} of it rounding",
            display::bytes(block_bytes),
            display::bytes(rounding)
        ),
    }
}

/// What torch.fx knew of a frame.
#[must_use]
pub fn fx_node(fx: &FxDetails) -> String {
    let parts = [fx.op.as_str(), fx.name.as_str(), fx.target.as_str()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("fx: {}", parts.join(" · "))
}

/// The most that was reserved, if that is known.
#[must_use]
pub fn peak_reserved(facts: &DeviceFacts) -> String {
    let known = facts.most_reserved_bytes;
    known.map_or_else(|| "unknown".to_owned(), display::bytes)
}

/// A number that the file may not tell.
#[must_use]
pub fn known_count(known: Option<u64>) -> String {
    known.map_or_else(|| "unknown".to_owned(), display::count)
}

/// A device's numbers: rows of name and value.
#[must_use]
pub fn device_rows(facts: &DeviceFacts) -> Vec<(&'static str, String)> {
    let allocations = ("Allocations", display::count(u64::from(facts.allocations)));
    if !facts.has_trace {
        return vec![
            ("Live", display::bytes(facts.peak_bytes)),
            ("Reserved", peak_reserved(facts)),
            ("Known", "at the dump only".to_owned()),
            allocations,
        ];
    }
    let mut rows = vec![
        ("Peak live", display::bytes(facts.peak_bytes)),
        (
            "Reached",
            match facts.peak_moment {
                0 => "before recording".to_owned(),
                moment => format!("with {}", display::event(u64::from(moment))),
            },
        ),
        ("Peak reserved", peak_reserved(facts)),
        ("Live at the end", display::bytes(facts.final_bytes)),
        allocations,
    ];
    if let Some((from, to)) = facts.time_span_us {
        rows.push(("Recorded for", display::duration(to - from)));
        rows.push(("From", display::date_time(from)));
    }
    if let Some(times @ 1..) = facts.ooms {
        rows.push(("Out of memory", count_of(times, "time", "times")));
    }
    rows
}

/// What a file is: rows of name and value.
#[must_use]
pub fn file_rows(file: &FileFacts) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("Format", file.format.clone()),
        ("Written by", file.producer.clone()),
        ("Size", display::bytes_exact(file.file_bytes)),
    ];
    // A file that is not packed has nothing to unwrap.
    if file.decoded_bytes != file.file_bytes {
        rows.push(("Unwrapped", display::bytes(file.decoded_bytes)));
    }
    rows.extend([
        ("Events", display::count(file.events)),
        ("Distinct stacks", display::count(file.stacks)),
        ("Held in memory", display::bytes(file.model_bytes)),
        ("Read in", format!("{:.0} ms", file.read_ms)),
    ]);
    rows
}

/// `Out of memory at event 1,234: requested 2.00 GiB with 1.20 GiB free on the device`.
#[must_use]
pub fn oom(mark: &OomMark) -> String {
    format!(
        "Out of memory at {}: requested {} with {} free on the device",
        display::event(u64::from(mark.moment)),
        display::bytes(mark.requested_bytes),
        display::bytes(mark.free_bytes)
    )
}

/// `GPU 0`.
#[must_use]
pub fn device_name(device: DeviceIndex) -> String {
    format!("GPU {device}")
}

#[must_use]
pub fn exact_bytes(bytes: u64) -> String {
    count_of(bytes, "byte", "bytes")
}

/// `selection: 40 allocations, 2.10 GiB (sum of their sizes); 3 of them outlive it, 1.20 GiB`.
#[must_use]
pub fn selection(facts: &RangeFacts) -> String {
    let allocated = count_of(u64::from(facts.allocated), "allocation", "allocations");
    let mut text = format!(
        "selection: {allocated}, {} (sum of their sizes)",
        display::bytes(facts.allocated_bytes)
    );
    if facts.allocated > 0 {
        let surviving = display::count(u64::from(facts.surviving));
        let bytes = display::bytes(facts.surviving_bytes);
        text.push_str(&format!("; {surviving} of them outlive it, {bytes}"));
    }
    text
}

/// The request for the file of a link.
#[must_use]
pub fn wanted(name: &str, bytes: Option<u64>) -> String {
    let size = bytes.map(|bytes| format!(" ({})", display::bytes(bytes)));
    let size = size.unwrap_or_default();
    format!(
        "This link shows a place in {name}{size}, but does not hold that file. Open it here to see the place."
    )
}

/// The text with a capital letter first.
#[must_use]
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}

#[cfg(test)]
mod tests {
    use vramscope_core::analysis::time::lifetime::Lifetime;

    use super::*;

    #[test]
    fn sentences_read_well() {
        let span = Life {
            lifetime: Lifetime {
                events: 1,
                us: Some(1_500),
                at_least: true,
            },
            ..Life::default()
        };
        assert_eq!(
            life(&span),
            "before recording → still live · more than 1 event, 1.50 ms"
        );
        assert_eq!(block(1_000, 1_024), "1.00 KiB, 24 B of it rounding");
        let facts = DeviceFacts {
            events: 364,
            has_trace: true,
            allocations: 1,
            peak_bytes: 2 << 20,
            ..DeviceFacts::default()
        };
        assert_eq!(
            totals(&facts, false),
            ["364 events", "1 allocation", "peak 2.00 MiB"]
        );
        assert_eq!(totals(&facts, true)[0], "364 events of all pools");
        let fetched = Progress {
            done_bytes: 1 << 20,
            total_bytes: Some(4 << 20),
            ..Progress::default()
        };
        assert_eq!(progress(&fetched), "Fetching · 1.00 MiB of 4.00 MiB");
        assert_eq!(fraction(&fetched), Some(0.25));
        let dump = hex_dump(b"\x80\x04}q\x00hello world!");
        assert_eq!(dump.lines().count(), 2);
        assert!(
            dump.starts_with(
                "00000000  80 04 7d 71 00 68 65 6c 6c 6f 20 77 6f 72 6c 64  ..}q.hello world\n"
            ),
            "{dump}"
        );
    }
}
