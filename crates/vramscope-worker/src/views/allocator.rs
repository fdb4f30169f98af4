//! Answers to [`protocol::views::allocator`](vramscope_protocol::views::allocator). Keeps the state that was drawn last,
//! as the next one is mostly a step away.

#[cfg(test)]
mod tests;
mod tip;

use vramscope_core::analysis::memory::allocator_state::{AllocatorState, FinalCheck, Stepper};
use vramscope_core::analysis::report::event_rows::{self, Wanted, event_rows, find_event};
use vramscope_core::ids::AllocationId;
use vramscope_core::model::{Action, DeviceIndex};
use vramscope_protocol::Extra;
use vramscope_protocol::views::allocator::{
    Answer, DrawState, Drawn, EventLine, GroupHead, JumpTo, Outline, Question,
};
use vramscope_protocol::views::filter::FilterText;
use vramscope_view::allocator_picture::{Metrics, StateLayout, StatePicture, StateRaster};
use vramscope_view::allocator_window::MOST_PX;
use vramscope_view::raster::Paint;
use vramscope_view::theme::Theme;

use super::super::document::{Device, Document};
use super::super::painter::Painter;

/// The most rows of one answer: more than a screen has.
const MOST_ROWS: u32 = 1_000;
/// The most headings of one answer: more than can be seen.
const MOST_HEADINGS: usize = 500;

/// The data kept from one question to the next.
#[derive(Default)]
pub(super) struct Cache {
    replayed: Option<ReplayedState>,
    raster: StateRaster,
    picture: StatePicture,
}

/// The state of one device at the moment that was asked for last.
struct ReplayedState {
    device: DeviceIndex,
    stepper: Stepper,
    check: FinalCheck,
    /// The last window's measures and height, with the measures and bytes per line at which everything fits.
    scale: Option<(Metrics, u32, (Metrics, f64))>,
}

/// The answer with its attachment; `None` if there is no such device.
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
    };
    Some((answer, Extra::Nothing))
}

impl Cache {
    /// Goes to the moment of a picture and lays out its state.
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
        let rows = draw.window.rows();
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
            pinned: draw.pinned.map_or_else(Outline::default, |id| {
                outline_of(device, state, &layout, draw, id)
            }),
            changed: changed(document, device, state, &layout, draw),
            check: replayed.check,
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
    /// The measures and bytes per line at which the state with the most segments fits. All other states fit as well,
    /// and nothing changes its size from event to event.
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

fn heads(
    document: &Document,
    state: &AllocatorState,
    layout: &StateLayout,
    css: f64,
) -> Vec<GroupHead> {
    let head = |heading: &vramscope_view::allocator_picture::Heading| {
        let group = state.groups.get(heading.group as usize)?;
        let pool = group.pool.and_then(|pool| document.pools().get(pool));
        let owner = pool.and_then(|pool| pool.owner_words(document.call_sites()));
        Some(GroupHead {
            owner: owner.unwrap_or_default(),
            y_css: f64::from(heading.y_px) * css,
            pool: group
                .pool
                .map(|pool| document.pools().label(pool))
                .unwrap_or_default(),
            stream: document.streams().label(group.stream),
            sums: group.sums,
        })
    };
    let headings = layout.headings.iter().take(MOST_HEADINGS);
    headings.filter_map(head).collect()
}

/// The outline of an allocation; empty if it is not live.
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
    Outline::of(state, layout, &draw.window, (found.address, found.bytes))
}

/// The outline of the memory that the last event changed: the block of its allocation, even if it is free by now, or
/// the part of a segment.
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
    Outline::of(state, layout, &draw.window, (events.addr[row], bytes))
}

/// Rows of the list of events. Row 0 is no event and left out.
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
            document.streams().label(event.stream)
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
