//! Answers to [`protocol::views::allocator`](crate::protocol::views::allocator). Keeps the state that was
//! drawn last: the next one mostly is a step away.

#[cfg(test)]
mod tests;
mod tip;

use vramscope_core::analysis::memory::allocator_state::{AllocatorState, FinalCheck, Stepper};
use vramscope_core::analysis::report::event_rows::{self, Wanted, event_rows, find_event};
use vramscope_core::ids::AllocationId;
use vramscope_core::model::{Action, DeviceIndex};
use vramscope_view::allocator_picture::{Metrics, StateLayout, StatePicture, StateRaster};
use vramscope_view::groups::pool_label;
use vramscope_view::raster::Paint;
use vramscope_view::theme::Theme;

use super::super::describe;
use super::super::document::{Device, Document};
use super::super::painter::Painter;
use crate::protocol::views::allocator::{
    Answer, DrawState, Drawn, EventLine, GroupHead, JumpTo, Outline, Question, RectCss, Window,
};
use crate::protocol::views::filter::FilterText;
use crate::protocol::{Axis, Extra};

/// Most rows told at once: more than a screen has.
const MOST_ROWS: u32 = 1_000;
/// Most device px in one direction: larger than any screen.
const MOST_PX: u32 = 16_384;
/// Most headings told, and most rectangles of an outline: more than can be seen.
const MOST_SHOWN: usize = 500;

/// What is kept from one question to the next.
#[derive(Default)]
pub(super) struct Cache {
    replayed: Option<ReplayedState>,
    raster: StateRaster,
    picture: StatePicture,
}

/// The state of one device, at the moment that was last asked for.
struct ReplayedState {
    device: DeviceIndex,
    stepper: Stepper,
    check: FinalCheck,
    /// For these measures and this height: the measures and bytes per line where all fits.
    scale: Option<(Metrics, u32, (Metrics, f64))>,
}

/// The answer, with what travels beside it; `None` if there is nothing to say.
pub(super) fn answer(
    question: &Question,
    document: &Document,
    painter: &mut Painter,
    cache: &mut Cache,
) -> Option<(Answer, Extra)> {
    let answer = match question {
        Question::Draw(draw) => return cache.draw(document, painter, draw),
        Question::Hit { draw, at_px } => {
            let device = document.device(draw.look.device)?;
            let layout = cache.layout(device, draw)?;
            let state = cache.replayed.as_ref()?.stepper.state();
            let tip = tip::tip(document, device, draw, state, &layout, *at_px);
            Answer::Tip(tip.map(Box::new))
        }
        Question::Events {
            device,
            filter,
            first,
            count,
        } => {
            let device = document.device(*device)?;
            let rows = (*first, (*count).min(MOST_ROWS));
            Answer::Events(events(document, device, filter.as_ref(), rows))
        }
        Question::Jump {
            device,
            filter,
            from,
            direction,
            to,
            ..
        } => {
            let device = document.device(*device)?;
            let from = (*from, *direction);
            Answer::Moment(jump(document, device, filter.as_ref(), from, *to))
        }
        Question::MomentAt {
            device, axis, x, ..
        } => {
            let device = document.device(*device)?;
            Answer::Moment(Some(moment_at(device, *axis, *x)))
        }
    };
    Some((answer, Extra::Nothing))
}

impl Cache {
    /// The state that is asked for, laid out.
    fn layout(&mut self, device: Device<'_>, draw: &DrawState) -> Option<StateLayout> {
        let is_other = |replayed: &ReplayedState| replayed.device != draw.look.device;
        if self.replayed.as_ref().is_none_or(is_other) {
            self.replayed = Some(ReplayedState {
                device: draw.look.device,
                stepper: device.stepper_at(draw.moment),
                check: device.final_check(),
                scale: None,
            });
        }
        let replayed = self.replayed.as_mut()?;
        device.move_to(&mut replayed.stepper, draw.moment);
        let window = &draw.window;
        let metrics = Metrics::of_screen(
            window.width_px.clamp(1, MOST_PX),
            window.pixel_ratio.clamp(0.1, 16.0),
        );
        let (metrics, fitting) = replayed.scale(device, metrics, window.height_px.min(MOST_PX));
        let zoom = if window.zoom >= 1.0 { window.zoom } else { 1.0 };
        Some(StateLayout::of(
            replayed.stepper.state(),
            metrics,
            fitting / zoom,
        ))
    }

    fn draw(
        &mut self,
        document: &Document,
        painter: &mut Painter,
        draw: &DrawState,
    ) -> Option<(Answer, Extra)> {
        let device = document.device(draw.look.device)?;
        let layout = self.layout(device, draw)?;
        let replayed = self.replayed.as_ref()?;
        let state = replayed.stepper.state();
        let theme = Theme::of(draw.look.theme);
        let groups = painter.colours.of(device, &draw.look);
        let matches = document.matches(device, draw.look.filter.as_ref());
        let paint = Paint {
            colours: &groups.colours,
            matches: matches.as_deref(),
            theme: &theme,
        };
        let rows = rows(&draw.window);
        let picture = &mut self.picture;
        self.raster
            .draw(state, &layout, rows.clone(), &paint, picture);
        let css = 1.0 / draw.window.pixel_ratio;
        let drawn = Drawn {
            moment: state.moment,
            total: state.total,
            groups: heads(document, state, &layout, css),
            misfits: state.misfits,
            height_css: f64::from(layout.height_px) * css,
            bytes_per_line: layout.bytes_per_line(),
            pinned: draw.pinned.map_or_else(Outline::default, |id| {
                outline_of(device, state, &layout, draw, id)
            }),
            changed: changed(document, device, state, &layout, draw),
            check: replayed.check,
            sizes: device.block_sizes().check,
        };
        let extra = Extra::Pixels {
            width_px: picture.width_px,
            height_px: picture.height_px,
            rgba: std::mem::take(&mut picture.rgba),
        };
        Some((Answer::Drawn(Box::new(drawn)), extra))
    }
}

impl ReplayedState {
    /// Bytes per line so that the state with the most segments fits: every other one then does so too, and
    /// nothing changes its size from event to event.
    fn scale(&mut self, device: Device<'_>, metrics: Metrics, height_px: u32) -> (Metrics, f64) {
        if let Some((known, height, scale)) = self.scale
            && (known, height) == (metrics, height_px)
        {
            return scale;
        }
        let steps = device.history.reserved_steps.iter();
        let fullest = steps.max_by_key(|&&(moment, bytes)| (bytes, std::cmp::Reverse(moment)));
        let moment = fullest.map_or(0, |&(moment, _)| moment);
        let state = device.state_at(moment);
        let scale = StateLayout::fit(&state, metrics, height_px);
        self.scale = Some((metrics, height_px, scale));
        scale
    }
}

/// The rows of pixels that a window shows.
fn rows(window: &Window) -> std::ops::Range<u32> {
    window.top_px..window.top_px.saturating_add(window.height_px.min(MOST_PX))
}

fn heads(
    document: &Document,
    state: &AllocatorState,
    layout: &StateLayout,
    css: f64,
) -> Vec<GroupHead> {
    let head = |heading: &vramscope_view::allocator_picture::Heading| {
        let group = state.groups.get(heading.group as usize)?;
        Some(GroupHead {
            y_css: f64::from(heading.y_px) * css,
            pool: group.pool.map(pool_label).unwrap_or_default(),
            stream: describe::stream_label(document, group.stream),
            sums: group.sums,
        })
    };
    let headings = layout.headings.iter().take(MOST_SHOWN);
    headings.filter_map(head).collect()
}

/// Where an allocation is.
fn outline_of(
    device: Device<'_>,
    state: &AllocatorState,
    layout: &StateLayout,
    draw: &DrawState,
    id: AllocationId,
) -> Outline {
    let Some((segment, block)) = state.find(device.history, id) else {
        return Outline::default();
    };
    let found = &state.segments[segment].blocks[block];
    outline(state, layout, draw, (found.address, found.bytes))
}

/// Where the last event was: its allocation's block, also if that is free by now; or what it did to a
/// segment.
fn changed(
    document: &Document,
    device: Device<'_>,
    state: &AllocatorState,
    layout: &StateLayout,
    draw: &DrawState,
) -> Outline {
    let Some(number) = state.moment.checked_sub(1) else {
        return Outline::default();
    };
    let events = &document.snapshot.events;
    let row = (device.history.first_event + number) as usize;
    let bytes = match events.action.get(row) {
        Some(Action::Oom | Action::Snapshot) | None => return Outline::default(),
        Some(Action::Alloc | Action::FreeRequested | Action::FreeCompleted | Action::Annotate) => {
            match device.history.allocation_of_event[number as usize] {
                u32::MAX => return Outline::default(),
                id => device.block_sizes().bytes(device.history, AllocationId(id)),
            }
        }
        Some(_) => events.size[row],
    };
    outline(state, layout, draw, (events.addr[row], bytes))
}

/// Where so many bytes from an address are.
fn outline(
    state: &AllocatorState,
    layout: &StateLayout,
    draw: &DrawState,
    (address, bytes): (u64, u64),
) -> Outline {
    let Some(row) = state.segment_at(address) else {
        return Outline::default();
    };
    let segment = &state.segments[row];
    let offset = address - segment.address;
    let ends = (
        offset as f64,
        offset.saturating_add(bytes).min(segment.bytes) as f64,
    );
    let rects = layout.rectangles_between(state, row, ends, rows(&draw.window));
    let css = 1.0 / draw.window.pixel_ratio;
    let line = layout.line_of(row, offset).map(f64::from);
    let height = f64::from(layout.metrics().line_px);
    Outline {
        rects: in_css(rects, css),
        line_css: line.map(|top| (top * css, (top + height) * css)),
    }
}

fn in_css(rects: Vec<[f64; 4]>, css: f64) -> Vec<RectCss> {
    let rects = rects.into_iter().take(MOST_SHOWN);
    rects.map(|rect| rect.map(|px| px * css)).collect()
}

/// Rows of the list, without row 0, which is no event.
fn events(
    document: &Document,
    device: Device<'_>,
    filter: Option<&FilterText>,
    (first, count): (u32, u32),
) -> Vec<EventLine> {
    let matches = document.matches(device, filter);
    let sites = document.call_sites();
    let numbers = first.saturating_sub(1)..first.saturating_add(count).saturating_sub(1);
    let rows = event_rows(*device, numbers);
    let line = |event: event_rows::EventRow| EventLine {
        site: match event.site.index() {
            0 => String::new(),
            _ => sites.get(event.site).label.clone(),
        },
        stream: if event.stream == 0 {
            String::new()
        } else {
            describe::stream_label(document, event.stream)
        },
        is_match: matches.as_ref().is_none_or(|matches| {
            event
                .allocation
                .is_some_and(|id| matches.contains(id.index()))
        }),
        event,
    };
    rows.into_iter().map(line).collect()
}

fn jump(
    document: &Document,
    device: Device<'_>,
    filter: Option<&FilterText>,
    (from, direction): (u32, event_rows::Direction),
    to: JumpTo,
) -> Option<u32> {
    let matches = document.matches(device, filter);
    let wanted = match to {
        JumpTo::Match => Wanted::Matches(matches.as_deref()?),
        JumpTo::Segments => Wanted::Segments,
        JumpTo::Oom => Wanted::Oom,
    };
    find_event(*device, from, direction, wanted)
}

/// The moment at a place; the last one beyond the end.
fn moment_at(device: Device<'_>, axis: Axis, x: f64) -> u32 {
    let bands = device.bands(axis);
    let moment = bands.moment_at(x.max(0.0));
    moment.unwrap_or(device.history.event_count)
}
