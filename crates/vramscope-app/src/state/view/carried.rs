//! The view of a device goes over to the next version of its file: what it shows stays where it is in time.

use super::{Cursor, DeviceView, Stale};
use crate::state::Shared;
use crate::state::pin::{GroupPlace, Pin, PinnedSegment};
use vramscope_core::model::DeviceIndex;
use vramscope_protocol::{
    Axis, Bounds, Carried, DeviceFacts, PlaceOf, RangeFacts, Thing, Viewport,
};
use vramscope_view::address::Pixel;

/// How far places of an axis move to the left.
#[derive(Clone, Copy)]
struct Shift {
    events: f64,
    time_us: f64,
}

impl Shift {
    fn of(self, axis: Axis) -> f64 {
        match axis {
            Axis::Events => self.events,
            Axis::Time => self.time_us,
        }
    }

    fn span(self, axis: Axis, (from, to): (f64, f64)) -> (f64, f64) {
        (from - self.of(axis), to - self.of(axis))
    }
}

impl DeviceView {
    /// What the worker must know to carry this view over.
    pub(in crate::state) fn place(&self, device: DeviceIndex) -> PlaceOf {
        PlaceOf {
            device,
            cursor: self.cursor_moment(),
            pinned: self.pinned_thing(),
        }
    }

    /// Goes over to the next version, with the bounds of the picture before and after.
    pub(in crate::state) fn carry(
        &mut self,
        carried: &Carried,
        facts: &DeviceFacts,
        (before, after): (&Bounds, &Bounds),
        follow: bool,
    ) {
        let shift = Shift {
            events: f64::from(carried.events),
            time_us: carried.time_us,
        };
        let (is_same_cursor, is_same_pin) = self.place(facts.device).is_same(&carried.asked);
        self.region = region_after(self.region, shift.of(self.axis), (before, after), follow);
        self.heights = [None; 4];
        self.fit_heights(before, after);
        (self.peak_moment, self.last_moment) = (facts.peak_moment, facts.events);
        (self.came_from, self.range_from, self.stack_step) = (None, None, None);
        self.lit = None;
        if let Some(click) = &mut self.clicked {
            click.region = self.region;
        }
        if let Some(cursor) = self.cursor {
            // One that was moved meanwhile was not asked about.
            let moment = match is_same_cursor {
                true => carried.cursor,
                false => cursor.moment.checked_sub(carried.events),
            };
            self.cursor = moment.map(|moment| moved(cursor, moment, shift, self.axis));
        }
        self.carry_range(shift, carried.events, after);
        let thing = carried.pinned.filter(|_| is_same_pin);
        self.carry_pin(thing, shift);
        self.stale = Stale {
            cursor: self.cursor.is_some(),
            range: self.selection.is_some(),
            details: self.details.is_some(),
            group: matches!(self.pin, Some(Pin::Group(_))),
        };
    }

    fn carry_range(&mut self, shift: Shift, events: u32, after: &Bounds) {
        let Some(range) = self.range else { return };
        let (from, to) = shift.span(self.axis, range);
        if to <= 0.0 {
            return self.select(None);
        }
        self.range = Some((from.max(0.0), to.min(after.x_end)));
        self.selection = self.selection.map(|facts| RangeFacts {
            x: (from.max(0.0), to.min(after.x_end)),
            moments: (
                facts.moments.0.saturating_sub(events),
                facts.moments.1.saturating_sub(events),
            ),
            events_x: shift.span(Axis::Events, facts.events_x),
            time_x: facts.time_x.map(|x| shift.span(Axis::Time, x)),
            ..facts
        });
    }

    /// Keeps the pin on the same thing; lets go of one that is no more.
    fn carry_pin(&mut self, thing: Option<Thing>, shift: Shift) {
        let details = self.details.take();
        self.pin = match (self.pin.take(), thing) {
            (Some(Pin::Allocation(_)), Some(Thing::Allocation(id))) => {
                self.details = details.map(|details| {
                    let mut details = (*details).clone();
                    details.known.allocation = id;
                    Shared::new(details)
                });
                Some(Pin::Allocation(id))
            }
            (Some(Pin::Segment(segment)), Some(Thing::Segment(piece))) => {
                let place = segment.place.map(|mut place| {
                    place.x = shift.span(place.axis, place.x);
                    place
                });
                Some(Pin::Segment(PinnedSegment { piece, place }))
            }
            (Some(Pin::Group(mut group)), _) => {
                group.place = group.place.map(|place| GroupPlace {
                    pixel: Pixel {
                        x: shift.span(place.pixel.axis, place.pixel.x),
                        ..place.pixel
                    },
                    ..place
                });
                Some(Pin::Group(group))
            }
            (Some(Pin::Event), _) => self.cursor.map(|_| Pin::Event),
            _ => None,
        };
    }
}

/// A cursor on the same moment, which has another number.
fn moved(cursor: Cursor, moment: u32, shift: Shift, axis: Axis) -> Cursor {
    Cursor {
        moment,
        x: match axis {
            Axis::Events => Some(f64::from(moment)),
            Axis::Time => cursor.x.map(|x| x - shift.time_us),
        },
        facts: cursor.facts.map(|mut facts| {
            facts.moment = moment;
            facts.x -= shift.of(axis);
            facts
        }),
    }
}

/// The visible part of the next version: as wide as before, with the newest events at the right edge or with the same
/// place in time. All of it if all was visible.
fn region_after(
    region: Viewport,
    shift: f64,
    (before, after): (&Bounds, &Bounds),
    follow: bool,
) -> Viewport {
    let is_whole = region.x_min <= 0.0 && region.x_max >= before.x_end;
    if follow && is_whole {
        return Viewport {
            x_min: 0.0,
            x_max: after.x_end,
            ..region
        };
    }
    let width = region.width().min(after.x_end);
    let x_min = match follow {
        true => after.x_end - width,
        false => region.x_min - shift,
    };
    let x_min = x_min.clamp(0.0, (after.x_end - width).max(0.0));
    Viewport {
        x_min,
        x_max: x_min + width,
        ..region
    }
}
