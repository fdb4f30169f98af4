//! The view of one device: the visible part, the pointer, the pin, the selection.

mod carried;
mod pointing;

use super::Shared;
use super::click::Click;
use super::navigation::{self, Navigation};
use super::pin::{Pin, PinnedGroup, PinnedSegment};
use vramscope_core::analysis::time::selection::Moments;
use vramscope_core::ids::AllocationId;
use vramscope_protocol::views::flame::BoxOf;
use vramscope_protocol::{
    Answer, Axis, Bounds, Details, DeviceFacts, Hit, MomentFacts, Picture, RangeFacts, Thing,
    Viewport,
};
use vramscope_view::address::{DevicePlace, Pinned};
use vramscope_view::axes::events_between;

/// The magnification of a double click on a pixel that several allocations share.
const CLOSER: f64 = 8.0;

/// The thing under the pointer.
pub type Hovered = Shared<Hit>;

/// The moment that all views are about.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cursor {
    pub moment: u32,
    /// Its place on the shown axis; `None` until the worker tells it.
    pub x: Option<f64>,
    /// Its figures; `None` until the worker tells them.
    pub facts: Option<MomentFacts>,
}

impl Cursor {
    fn at(moment: u32, axis: Axis) -> Self {
        Self {
            moment,
            x: (axis == Axis::Events).then(|| f64::from(moment)),
            facts: None,
        }
    }
}

/// The way in which the picture follows a new cursor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reveal {
    /// Brings it to the middle, as the user asked to go there.
    Centre,
    /// Moves only if the picture does not show the cursor.
    IfHidden,
}

/// A step from one allocation to the next in the stack of bands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackStep {
    /// `true` = up.
    pub up: bool,
    /// The allocation to start from; `None` = the end of the stack.
    pub from: Option<AllocationId>,
    /// The moment of the stack.
    pub moment: u32,
}

/// What is shown of an older version of the file until the worker tells it of this one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stale {
    /// The figures of the cursor's moment.
    pub cursor: bool,
    /// The figures of the selected range.
    pub range: bool,
    /// The pinned allocation in full.
    pub details: bool,
    /// What shares the pinned pixel.
    pub group: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct DeviceView {
    /// The visible part, in the unit of the axis, as a picture of one by one px.
    pub region: Viewport,
    /// The moment that all views are about, if any: set by the keyboard, a click or another view.
    pub cursor: Option<Cursor>,
    /// The selected range of the x axis, lower end first.
    pub range: Option<(f64, f64)>,
    /// What is under the pointer.
    pub hovered: Option<Hovered>,
    /// The box of the flame graph that is pointed at.
    pub lit: Option<Box<BoxOf>>,
    pub pin: Option<Pin>,
    /// The pinned allocation in full; `None` until the worker tells it.
    pub details: Option<Shared<Details>>,
    /// The axis of `region`, `cursor` and `range`.
    pub axis: Axis,
    /// The part that was visible on the other axis, to be shown once its place on this one is known.
    pub came_from: Option<(Axis, (f64, f64))>,
    /// The selection in places of the other axis, to be selected once its place on this one is known.
    pub range_from: Option<(Axis, (f64, f64))>,
    pub picture: Picture,
    /// Whether the timeline is not in the order of birth.
    pub(super) is_restacked: bool,
    /// The visible heights of the pictures that are not shown, by picture.
    heights: [Option<(f64, f64)>; 4],
    /// The figures of the selected range; `None` until the worker tells them.
    pub selection: Option<RangeFacts>,
    /// A click that waits for the worker to tell the thing under it, which is then pinned. A finger does not hover
    /// before it taps, and a mouse may click before the answer to its hovering comes.
    pub clicked: Option<Click>,
    /// A step to another allocation that waits for an answer.
    pub stack_step: Option<StackStep>,
    /// What is of an older version of the file.
    pub stale: Stale,
    /// Whether the pointer has left the picture, so that late answers about it are dropped.
    pointer_left: bool,
    /// Whether to fit the view to the pinned allocation once its place is known.
    wants_fit: bool,
    /// The way to show the cursor once its place is known; `None` = not at all.
    reveal: Option<Reveal>,
    peak_moment: u32,
    last_moment: u32,
}

impl DeviceView {
    pub(super) fn new(facts: &DeviceFacts, whole: &Bounds) -> Self {
        Self {
            region: navigation::whole(whole),
            cursor: None,
            range: None,
            hovered: None,
            lit: None,
            pin: None,
            details: None,
            axis: Axis::Events,
            came_from: None,
            range_from: None,
            picture: Picture::Timeline,
            is_restacked: false,
            heights: [None; 4],
            selection: None,
            clicked: None,
            stack_step: None,
            stale: Stale::default(),
            pointer_left: false,
            wants_fit: false,
            reveal: None,
            peak_moment: facts.peak_moment,
            last_moment: facts.events,
        }
    }

    /// Changes the axis. The same part stays visible, once the worker tells its place on the new axis.
    pub(super) fn choose_axis(&mut self, axis: Axis, before: &Bounds, bounds: &Bounds) {
        if axis == self.axis {
            return;
        }
        let Viewport { x_min, x_max, .. } = self.region;
        let is_whole = x_min <= 0.0 && x_max >= before.x_end;
        // The user is back before the worker has told the place on the other axis: the old part is still right.
        let back = self.came_from.filter(|(from, _)| is_whole && *from == axis);
        let (x_min, x_max) = match back {
            Some((_, part)) => {
                self.came_from = None;
                part
            }
            None => {
                self.came_from = (!is_whole).then_some((self.axis, (x_min, x_max)));
                (0.0, bounds.x_end)
            }
        };
        (self.region.x_min, self.region.x_max) = (x_min, x_max);
        if let Some(range) = self.range {
            self.range_from = Some((self.axis, range));
        }
        self.axis = axis;
        self.cursor = self.cursor.map(|cursor| Cursor::at(cursor.moment, axis));
        (self.range, self.selection) = (None, None);
        self.hovered = None;
    }

    /// Shows another picture, with the same part of the x axis and the heights that it had last.
    pub(super) fn choose_picture(&mut self, picture: Picture, bounds: &Bounds) {
        if picture == self.picture {
            return;
        }
        let heights = (self.region.y_min_bytes, self.region.y_max_bytes);
        self.heights[self.picture as usize] = Some(heights);
        let whole = navigation::whole(bounds);
        let kept = self.heights[picture as usize];
        (self.region.y_min_bytes, self.region.y_max_bytes) =
            kept.unwrap_or((whole.y_min_bytes, whole.y_max_bytes));
        self.picture = picture;
        self.hide();
    }

    /// Shows a place in full.
    pub(super) fn restore(&mut self, place: &DevicePlace, bounds: &Bounds) {
        let whole = navigation::whole(bounds);
        let x = place.x.unwrap_or((whole.x_min, whole.x_max));
        let y_bytes = place.y_bytes;
        let y_bytes = y_bytes.unwrap_or((whole.y_min_bytes, whole.y_max_bytes));
        self.region = whole.fit_box(x, y_bytes, bounds);
        (self.came_from, self.reveal) = (None, None);
        if self.range != place.range {
            self.select(place.range);
        }
        self.range_from = None;
        if self.cursor_moment() != place.cursor {
            self.cursor = place.cursor.map(|moment| Cursor::at(moment, self.axis));
        }
        match place.pinned {
            Some(Pinned::Allocation(allocation)) => self.pin(allocation),
            Some(Pinned::Event) => self.set_pin(self.cursor.map(|_| Pin::Event)),
            // What is known of the same one stays.
            Some(_) if place.pinned == self.pin.as_ref().and_then(Pin::address) => {}
            Some(Pinned::Segment(piece)) => {
                let place = None;
                self.set_pin(Some(Pin::Segment(PinnedSegment { piece, place })));
            }
            Some(Pinned::Group(pixel)) => {
                self.set_pin(Some(Pin::Group(PinnedGroup::at(pixel, self.region))));
            }
            None => self.set_pin(None),
        }
        self.hide();
    }

    /// Takes other facts of the device, of the same events, with the bounds before and after. Figures that depend on
    /// them are asked for anew.
    pub(super) fn take_facts(&mut self, facts: &DeviceFacts, before: &Bounds, after: &Bounds) {
        self.heights = [None; 4];
        self.fit_heights(before, after);
        self.peak_moment = facts.peak_moment;
        (self.selection, self.details) = (None, None);
        if let Some(cursor) = &mut self.cursor {
            cursor.facts = None;
        }
        self.hide();
    }

    /// Moves the visible part to the right end.
    pub(super) fn show_end(&mut self, bounds: &Bounds) {
        let right = (bounds.x_end - self.region.x_max).max(0.0);
        self.region.x_min += right;
        self.region.x_max += right;
        self.hide();
    }

    /// Takes new bounds of other height. If all heights were shown, they still are.
    pub(super) fn fit_heights(&mut self, before: &Bounds, after: &Bounds) {
        let is_whole =
            self.region.y_min_bytes <= 0.0 && self.region.y_max_bytes >= before.y_end_bytes;
        if is_whole || self.region.y_max_bytes > after.y_end_bytes {
            self.region.y_min_bytes = 0.0;
            self.region.y_max_bytes = after.y_end_bytes;
            self.hide();
        }
    }

    /// Asks for the allocation above or below the pinned one, at the cursor; without a cursor at the peak.
    pub(super) fn step_in_stack(&mut self, up: bool, bounds: &Bounds) {
        let moment = self.cursor_moment().unwrap_or(self.peak_moment);
        self.go_to_moment(moment, bounds);
        self.stack_step = Some(StackStep {
            up,
            from: self.pinned(),
            moment,
        });
    }

    /// Takes the allocation that a step has led to; `None` = the end of the stack.
    pub(super) fn stepped_in_stack(&mut self, to: Option<AllocationId>) {
        self.stack_step = None;
        if let Some(allocation) = to {
            self.pin(allocation);
        }
    }

    /// The selected range in moments; `None` until the worker tells it.
    #[must_use]
    pub fn moments(&self) -> Option<Moments> {
        self.selection.map(|facts| facts.moments)
    }

    /// The cursor's place on the shown axis, if known.
    #[must_use]
    pub fn cursor_x(&self) -> Option<f64> {
        self.cursor.and_then(|cursor| cursor.x)
    }

    #[must_use]
    pub fn cursor_moment(&self) -> Option<u32> {
        self.cursor.map(|cursor| cursor.moment)
    }

    /// Takes the figures of a range: the selected one, or the one that was visible on the other axis.
    fn take_range(&mut self, facts: RangeFacts, bounds: &Bounds) {
        if self.came_from == Some((facts.axis, facts.x)) {
            self.came_from = None;
            let here = match self.axis {
                Axis::Events => Some(facts.events_x),
                Axis::Time => facts.time_x,
            };
            if let Some((from, to)) = here {
                self.navigate(Navigation::ShowX(from, to), self.axis, bounds);
            }
        } else if self.range_from == Some((facts.axis, facts.x)) {
            self.range_from = None;
            self.range = match self.axis {
                Axis::Events => Some(facts.events_x),
                Axis::Time => facts.time_x,
            };
            self.selection = self.range.map(|x| RangeFacts {
                axis: self.axis,
                x,
                ..facts
            });
        } else if self.range == Some(facts.x) && facts.axis == self.axis {
            self.selection = Some(facts);
            self.stale.range = false;
        }
    }

    pub(super) fn navigate(&mut self, navigation: Navigation, axis: Axis, bounds: &Bounds) {
        let before = self.region;
        self.go(navigation, axis, bounds);
        if self.region != before {
            // The picture moves under the pointer.
            self.hovered = None;
        }
    }

    fn go(&mut self, navigation: Navigation, axis: Axis, bounds: &Bounds) {
        match navigation {
            Navigation::Peak => self.jump(self.peak_moment, bounds),
            Navigation::Event(moment) => {
                self.jump(moment, bounds);
                self.set_pin(Some(Pin::Event));
            }
            Navigation::Step(forward) => self.step(forward, bounds),
            Navigation::FitPinned => self.fit_pin(axis, bounds),
            navigation => self.region = navigation.apply(self.region, bounds),
        }
    }

    /// Fits the view to what is pinned, as far as this picture shows it; once that is known, if it is not yet.
    fn fit_pin(&mut self, axis: Axis, bounds: &Bounds) {
        // What was clicked is meant, not what was pinned before.
        if let Some(click) = &mut self.clicked {
            click.wants_fit = true;
            return;
        }
        let here = (self.picture, self.axis);
        self.region = match (&self.pin, &self.details) {
            (Some(Pin::Allocation(_)), Some(details)) => {
                let shown = (axis, self.picture, self.is_restacked);
                navigation::fitted(self.region, &details.place, shown, bounds)
            }
            (
                Some(Pin::Segment(PinnedSegment {
                    place: Some(place), ..
                })),
                _,
            ) if (place.picture, place.axis) == here => {
                self.region.fit_allocation(place.x, place.y, bounds)
            }
            (
                Some(Pin::Group(PinnedGroup {
                    place: Some(place), ..
                })),
                _,
            ) if self.picture.shows(place.pixel.picture) && place.pixel.axis == self.axis => {
                place.region.zoomed(CLOSER, CLOSER, place.at, bounds)
            }
            _ => self.region,
        };
        self.wants_fit = self.pinned().is_some() && self.details.is_none();
    }

    /// The pinned allocation.
    #[must_use]
    pub fn pinned(&self) -> Option<AllocationId> {
        match self.pin {
            Some(Pin::Allocation(allocation)) => Some(allocation),
            _ => None,
        }
    }

    /// The moment whose event is pinned.
    #[must_use]
    pub fn pinned_event(&self) -> Option<u32> {
        let moment = self.cursor_moment()?;
        (self.pin == Some(Pin::Event)).then_some(moment)
    }

    /// What is pinned in pictures.
    #[must_use]
    pub fn pinned_thing(&self) -> Option<Thing> {
        self.pin.as_ref().and_then(Pin::thing)
    }

    /// Goes to the next or previous event of the pinned allocation; with an event pinned, to the one beside it.
    fn step(&mut self, forward: bool, bounds: &Bounds) {
        if let Some(moment) = self.pinned_event() {
            let beside = if forward {
                moment.saturating_add(1)
            } else {
                moment.saturating_sub(1)
            };
            return self.go_to_moment(beside.clamp(1, self.last_moment.max(1)), bounds);
        }
        let Some(details) = &self.details else { return };
        let events = navigation::events_of(&details.known.life);
        let from = self.cursor_moment();
        let next = if forward {
            events
                .into_iter()
                .find(|&moment| from.is_none_or(|from| moment > from))
        } else {
            let mut events = events.into_iter().rev();
            events.find(|&moment| from.is_none_or(|from| moment < from))
        };
        if let Some(moment) = next {
            self.jump(moment, bounds);
        }
    }

    /// Puts the cursor on a moment and pins the event that leads to it. The picture moves only if it does not show it.
    pub(super) fn choose_event(&mut self, moment: u32, bounds: &Bounds) {
        self.go_to_moment(moment, bounds);
        self.set_pin(Some(Pin::Event));
    }

    /// Brings a moment to the middle and puts the cursor there.
    fn jump(&mut self, moment: u32, bounds: &Bounds) {
        self.put_cursor(moment, Reveal::Centre, bounds);
    }

    /// Puts the cursor on a moment. The picture moves only if it does not show it.
    pub(super) fn go_to_moment(&mut self, moment: u32, bounds: &Bounds) {
        self.put_cursor(moment, Reveal::IfHidden, bounds);
    }

    fn put_cursor(&mut self, moment: u32, reveal: Reveal, bounds: &Bounds) {
        self.set_cursor(moment);
        self.reveal = Some(reveal);
        self.reveal_cursor(bounds);
    }

    /// Puts the cursor on a moment. The picture stays.
    pub(super) fn set_cursor(&mut self, moment: u32) {
        if self.cursor_moment() != Some(moment) {
            self.cursor = Some(Cursor::at(moment, self.axis));
        }
    }

    /// Moves the cursor by a hundredth of the visible part, at least by one event; without a cursor from the peak.
    pub(super) fn step_cursor(&mut self, forward: bool, bounds: &Bounds) {
        let share = self.region.width() / bounds.x_end;
        let events = (share * f64::from(self.last_moment) / 100.0).round();
        let step = (events as u32).max(1);
        let from = self.cursor_moment().unwrap_or(self.peak_moment);
        let to = if forward {
            from.saturating_add(step).min(self.last_moment)
        } else {
            from.saturating_sub(step)
        };
        self.go_to_moment(to, bounds);
    }

    /// Shows the cursor if its place is known.
    fn reveal_cursor(&mut self, bounds: &Bounds) {
        let Some((reveal, x)) = self.reveal.zip(self.cursor_x()) else {
            return;
        };
        self.reveal = None;
        let is_hidden = !(self.region.x_min..=self.region.x_max).contains(&x);
        if is_hidden || reveal == Reveal::Centre {
            self.region = navigation::centred(self.region, x, bounds);
        }
    }

    /// Takes the figures of the cursor's moment.
    fn take_moment(&mut self, axis: Axis, facts: MomentFacts, bounds: &Bounds) {
        if axis == self.axis
            && let Some(cursor) = &mut self.cursor
            && cursor.moment == facts.moment
        {
            cursor.x = Some(facts.x);
            cursor.facts = Some(facts);
            self.stale.cursor = false;
            self.reveal_cursor(bounds);
        }
    }

    /// Selects the events between two moments.
    pub(super) fn select_moments(&mut self, moments: Moments) {
        let x = events_between(moments);
        match self.axis {
            Axis::Events => self.select(Some(x)),
            Axis::Time => {
                self.select(None);
                self.range_from = Some((Axis::Events, x));
            }
        }
    }

    pub(super) fn select(&mut self, range: Option<(f64, f64)>) {
        (self.selection, self.range_from) = (None, None);
        self.range = range
            .map(|(a, b)| (a.min(b), a.max(b)))
            .filter(|(from, to)| to > from);
    }

    /// Selects the range between two places of the picture, clamped to it.
    pub(super) fn select_between(&mut self, from: f64, to: f64) {
        let x_at = |share: f64| self.region.x_at(share.clamp(0.0, 1.0));
        self.select(Some((x_at(from), x_at(to))));
    }

    pub(super) fn pin(&mut self, allocation: AllocationId) {
        self.set_pin(Some(Pin::Allocation(allocation)));
    }

    /// Pins several allocations that share a pixel of no picture over the x axis.
    pub(super) fn pin_group(&mut self, group: PinnedGroup) {
        self.set_pin(Some(Pin::Group(group)));
    }

    fn set_pin(&mut self, pin: Option<Pin>) {
        if self.pin != pin {
            self.pin = pin;
            self.details = None;
        }
        self.wants_fit = false;
        self.clicked = None;
    }

    /// Clears the pin, or else the cursor, or else the selection. A click on a thing set the cursor too, which goes with
    /// it. An event is pinned where the cursor is, which stays: else a list of events would jump away.
    pub(super) fn let_go(&mut self) {
        self.clicked = None;
        if let Some(pin) = self.pin.clone() {
            self.set_pin(None);
            if pin != Pin::Event {
                self.cursor = None;
            }
        } else if self.cursor.take().is_none() {
            self.select(None);
        }
    }

    /// Takes an answer about this device. One that is no longer wanted changes nothing.
    pub(super) fn take(&mut self, answer: Answer, bounds: &Bounds) {
        match answer {
            Answer::Hit(hit) => self.take_hit(*hit, bounds),
            Answer::Details(details) if self.pinned() == Some(details.known.allocation) => {
                self.details = Some(Shared::new(*details));
                self.stale.details = false;
                if std::mem::take(&mut self.wants_fit) {
                    self.navigate(Navigation::FitPinned, self.axis, bounds);
                }
            }
            Answer::Range(facts) => self.take_range(*facts, bounds),
            Answer::Moment(placed) => self.take_moment(placed.axis, placed.facts, bounds),
            _ => {}
        }
    }
}
