//! Moments and allocations in the words and figures that the page shows.

use std::cmp::Reverse;

use vramscope_core::analysis::code::call_sites::CallSiteId;
use vramscope_core::analysis::groups::live_at::top_call_sites;
use vramscope_core::analysis::report::details::{
    AllocationDetails, FrameDetails, StackOrigin, allocation_brief, allocation_details,
    stack_details,
};
use vramscope_core::analysis::report::event_details::event_details;
use vramscope_core::analysis::roles::{Role, RoleFinding};
use vramscope_core::ids::AllocationId;
use vramscope_core::model::{BlockState, PoolId};
use vramscope_core::sorting::SortFew;
use vramscope_core::units::Bytes;
use vramscope_protocol::{
    AllocationExtent, Axis, Composition, Details, DetailsOf, EventAnswer, EventOf, MOST_LISTED,
    MomentAt, MomentFacts, MomentOf, PlacedMoment, Preview, PreviewsOf,
};

use super::document::{Device, Document};

/// A moment and its place on the axis.
pub(super) fn placed_moment(document: &Document, asked: &MomentOf) -> Option<PlacedMoment> {
    let MomentOf {
        device,
        axis,
        moment,
    } = *asked;
    Some(PlacedMoment {
        device,
        axis,
        facts: self::moment(document.device(device)?, axis, moment),
    })
}

/// The moment at a place of the axis.
pub(super) fn moment_at(document: &Document, asked: &MomentAt) -> Option<u32> {
    let device = document.device(asked.device)?;
    let moment = device.bands(asked.axis).moment_at(asked.x.max(0.0));
    Some(moment.unwrap_or(device.history.event_count))
}

/// A moment in figures.
pub(super) fn moment(device: Device<'_>, axis: Axis, moment: u32) -> MomentFacts {
    MomentFacts::of(*device, &device.bands(axis), moment)
}

/// An allocation in three lines; `None` if the device has no such.
pub(super) fn preview(
    document: &Document,
    device: Device<'_>,
    id: AllocationId,
) -> Option<Preview> {
    let known = allocation_brief(*device, id)?;
    let site = device
        .site_of()
        .get(id.index())
        .copied()
        .unwrap_or(CallSiteId::NONE);
    let stream = known.stream.filter(|&stream| stream != 0);
    let pool = known.pool.filter(|pool| pool.is_private());
    let role = Some(known.role).filter(|&role| role != Role::Unknown);
    let operators = device.operators();
    let operator = operators.label(device.operator(id));
    let remarks = [
        Some(operator.to_owned()).filter(|operator| !operator.is_empty()),
        known
            .category
            .clone()
            .or_else(|| Some(role?.label().to_owned())),
        stream.map(|stream| document.streams().label(stream)),
        pool.map(|pool| document.pools().label(pool)),
    ];
    Some(Preview {
        allocation: id,
        brief: known,
        user_frame: if site.index() == 0 {
            String::new()
        } else {
            document.call_sites().get(site).label.clone()
        },
        remarks: remarks.into_iter().flatten().collect::<Vec<_>>().join(", "),
    })
}

/// Several allocations, by call site.
pub(super) fn composition(
    device: Device<'_>,
    ids: impl IntoIterator<Item = AllocationId>,
    limit: usize,
) -> Composition {
    let mut largest: Vec<AllocationId> = ids.into_iter().collect();
    let top = top_call_sites(*device, largest.iter().copied(), limit);
    let bytes = &device.history.allocations.bytes;
    let rank = |id: &AllocationId| (Reverse(bytes[id.index()]), id.0);
    if largest.len() > MOST_LISTED {
        largest.select_nth_unstable_by_key(MOST_LISTED, rank);
        largest.truncate(MOST_LISTED);
    }
    largest.sort_few_by_key(rank);
    Composition { top, largest }
}

/// Allocations in three lines each; `None` if the file has no such device. Unknown ones are left out.
pub(super) fn previews(document: &Document, asked: &PreviewsOf) -> Option<Vec<Preview>> {
    let device = document.device(asked.device)?;
    let known = asked.allocations.iter().take(MOST_LISTED);
    Some(
        known
            .filter_map(|&id| preview(document, device, id))
            .collect(),
    )
}

/// An event in full; `None` if the file has no such.
pub(super) fn event(document: &Document, asked: &EventOf) -> Option<EventAnswer> {
    let device = document.device(asked.device)?;
    let known = event_details(*device, asked.moment)?;
    let rows = [
        ("Stream", Some(document.streams().label(known.row.stream))),
        ("Pool", known.pool.map(|id| pool(document, id))),
        ("Compile context", known.compile_context.clone()),
        ("User metadata", known.user_metadata.clone()),
        ("Internal metadata", known.internal_metadata.clone()),
    ];
    Some(EventAnswer {
        properties: named(rows),
        known,
    })
}

/// A pool by name; of a private one also what tells the name, and whose memory it holds most.
pub(super) fn pool(document: &Document, id: PoolId) -> String {
    let pools = document.pools();
    let Some(pool) = pools.get(id).filter(|_| id.is_private()) else {
        return pools.label(id);
    };
    let owner = pool.owner_words(document.call_sites());
    let owner = owner.map_or_else(String::new, |owner| format!(" Mostly {owner}."));
    let because = pool.because(&document.snapshot);
    format!("{}: {because}{owner}", pool.label())
}

/// The rows that have a value.
fn named<const ROWS: usize>(rows: [(&str, Option<String>); ROWS]) -> Vec<(String, String)> {
    rows.into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

/// An allocation in full; `None` if the file has no such.
pub(super) fn details(document: &Document, asked: &DetailsOf) -> Option<Details> {
    let (device, id) = (document.device(asked.device)?, asked.allocation);
    let known = allocation_details(*device, id)?;
    Some(Details {
        place: AllocationExtent::of(*device, device.timeline(), device.map_lanes(), id),
        properties: properties(document, &known),
        free_stack: free_stack(document, device, id, &known),
        known,
    })
}

/// Name and value of the other properties, in order of display.
fn properties(document: &Document, known: &AllocationDetails) -> Vec<(String, String)> {
    let block = known.block.as_ref();
    let state = block.map(|block| match block.state {
        BlockState::ActiveAllocated => "allocated".to_owned(),
        BlockState::ActivePendingFree => "pending free".to_owned(),
        BlockState::Inactive => "inactive".to_owned(),
        BlockState::Other(word) => document.snapshot.strings.get(word).to_owned(),
    });
    let segment = block.and_then(|block| block.segment_address.zip(block.segment_bytes));
    let texts = |texts: &[String]| (!texts.is_empty()).then(|| texts.join(" › "));
    let rows = [
        ("Block state", state),
        (
            "Segment",
            segment.map(|(address, bytes)| format!("0x{address:x}, {}", Bytes(bytes))),
        ),
        (
            "Stream",
            known.stream.map(|stream| document.streams().label(stream)),
        ),
        ("Pool", known.pool.map(|id| pool(document, id))),
        ("Category", known.category.clone()),
        ("Role", Some(role(&known.role))),
        ("Range", texts(&known.ranges)),
        ("Compile context", known.compile_context.clone()),
        ("User metadata", known.user_metadata.clone()),
        ("Internal metadata", known.internal_metadata.clone()),
        ("Annotations", texts(&known.annotations)),
        (
            "Live right after",
            Some(Bytes(known.active_bytes_after).to_string()),
        ),
    ];
    named(rows)
}

/// A role with its evidence: `gradient (likely): Made by the backward pass, and kept after it.`
fn role(found: &RoleFinding) -> String {
    match found.role {
        Role::Unknown => format!("unknown: {}", found.because),
        role => format!(
            "{} ({}): {}",
            role.label(),
            found.confidence.word(),
            found.because
        ),
    }
}

/// The stack of the free; `None` if it was not recorded or is that of the allocation.
fn free_stack(
    document: &Document,
    device: Device<'_>,
    id: AllocationId,
    known: &AllocationDetails,
) -> Option<Vec<FrameDetails>> {
    let history = device.history;
    let event = history
        .free_requested_event(id)
        .or_else(|| history.free_completed_event(id))?;
    let snapshot = &document.snapshot;
    let stack = *snapshot.events.stack.get(event.index())?;
    let (own, _) = history.stack(snapshot, id);
    if stack == own || !stack.has_frames() || known.stack_source == Some(StackOrigin::Free) {
        return None;
    }
    Some(stack_details(document, stack).0)
}
