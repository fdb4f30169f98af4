//! What is shown of one device: the visible part, the pointer, the pin, the selection.

use super::Shared;
use super::navigation::{self, Navigation, Region};
use crate::protocol::{
    Axis, Bounds, Details, DeviceFacts, DrawRequest, Hit, HitOn, Legend, Overview, RangeFacts,
    Reply,
};
use vramscope_core::ids::AllocationId;

/// How much closer a click goes where several allocations share a pixel.
const CLOSER: f64 = 8.0;

/// What is under the pointer.
pub type Hovered = Shared<Hit>;

/// A click: where, and in which part of the timeline.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Click {
    /// The place, device px of the picture.
    pub at_px: (f64, f64),
    /// What was visible.
    pub region: Region,
    /// On this axis.
    pub axis: Axis,
}

impl Click {
    /// Whether an answer is about this place.
    fn is_at(&self, hit: &Hit) -> bool {
        self.at_px == hit.at_px && is_of(&hit.draw, self.region, self.axis)
    }
}

/// Whether a picture shows this part of the timeline.
fn is_of(draw: &DrawRequest, region: Region, axis: Axis) -> bool {
    let size = (draw.viewport.width_px, draw.viewport.height_px);
    draw.look.axis == axis && draw.viewport == region.viewport(size)
}

/// What is shown of one device.
#[derive(Clone, PartialEq, Debug)]
pub struct DeviceView {
    /// The visible part, on the axis of the file.
    pub region: Region,
    /// Where the keyboard has jumped to, on that axis.
    pub cursor_x: Option<f64>,
    /// Selected data x, lower end first.
    pub range: Option<(f64, f64)>,
    /// What is under the pointer.
    pub hovered: Option<Hovered>,
    /// The pinned allocation.
    pub pinned: Option<AllocationId>,
    /// What is known about it, once the worker has said so.
    pub details: Option<Shared<Details>>,
    /// The strip's curves on the axis shown, once the worker has said so.
    pub overview: Option<Shared<Overview>>,
    /// What the colours mean, likewise.
    pub legend: Option<Shared<Legend>>,
    /// The axis that `region`, `cursor_x` and `range` are on.
    pub axis: Axis,
    /// What was visible on the other axis: to be shown on this one as soon as it is known where it is.
    pub came_from: Option<(Axis, (f64, f64))>,
    /// What the selected range holds, once the worker has said so.
    pub selection: Option<RangeFacts>,
    /// The click that waits for an answer: what it is on will be pinned. A finger does not hover before it
    /// taps, and a mouse may click before what it is on is known.
    pub clicked: Option<Click>,
    /// Whether the pointer has left the picture: answers about it that are still to come say nothing.
    pointer_left: bool,
    /// Whether to fit the view to the pinned allocation as soon as its place is known.
    wants_fit: bool,
    peak_moment: u32,
}

impl DeviceView {
    pub(super) fn new(facts: &DeviceFacts) -> Self {
        Self {
            region: navigation::whole(&facts.axes.bounds(Axis::Events)),
            cursor_x: None,
            range: None,
            hovered: None,
            pinned: None,
            details: None,
            overview: None,
            legend: None,
            axis: Axis::Events,
            came_from: None,
            selection: None,
            clicked: None,
            pointer_left: false,
            wants_fit: false,
            peak_moment: facts.peak_moment,
        }
    }

    /// The same part stays visible; where that is on the other axis, the worker knows.
    pub(super) fn choose_axis(&mut self, axis: Axis, before: &Bounds, bounds: &Bounds) {
        if axis == self.axis {
            return;
        }
        let Region { x_min, x_max, .. } = self.region;
        let is_whole = x_min <= 0.0 && x_max >= before.x_end;
        self.came_from = (!is_whole).then_some((self.axis, (x_min, x_max)));
        self.region = Region {
            x_min: 0.0,
            x_max: bounds.x_end,
            ..self.region
        };
        self.axis = axis;
        (self.cursor_x, self.range, self.selection) = (None, None, None);
        (self.overview, self.hovered) = (None, None);
    }

    /// Takes what a range holds: the selected one, or the one that was visible on the other axis.
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
        } else if self.range == Some(facts.x) && facts.axis == self.axis {
            self.selection = Some(facts);
        }
    }

    pub(super) fn navigate(&mut self, navigation: Navigation, axis: Axis, bounds: &Bounds) {
        let before = self.region;
        self.go(navigation, axis, bounds);
        if self.region != before {
            // Something else may be under the pointer now.
            self.hovered = None;
        }
    }

    fn go(&mut self, navigation: Navigation, axis: Axis, bounds: &Bounds) {
        match navigation {
            Navigation::Peak => {
                if let Some(x) = self.peak_x(axis) {
                    self.jump(x, bounds);
                }
            }
            Navigation::Oom(moment) => {
                if let Some(x) = self.oom_x(moment, axis) {
                    self.jump(x, bounds);
                }
            }
            Navigation::Step(forward) => self.step(forward, axis, bounds),
            Navigation::FitPinned => match &self.details {
                Some(details) => {
                    self.region = navigation::fitted(self.region, &details.place, axis, bounds);
                }
                None => self.wants_fit = self.pinned.is_some(),
            },
            navigation => self.region = navigation.apply(self.region, bounds),
        }
    }

    /// The peak on an axis, as soon as it is known there.
    fn peak_x(&self, axis: Axis) -> Option<f64> {
        match axis {
            Axis::Events => Some(f64::from(self.peak_moment)),
            Axis::Time => self.overview.as_ref().map(|overview| overview.peak_x),
        }
    }

    /// Goes to the next or previous event of the pinned allocation.
    fn step(&mut self, forward: bool, axis: Axis, bounds: &Bounds) {
        let Some(details) = &self.details else { return };
        let from = self
            .cursor_x
            .unwrap_or(if forward { f64::MIN } else { f64::MAX });
        let events = navigation::events_of(&details.life, axis);
        let next = if forward {
            events.into_iter().find(|&x| x > from)
        } else {
            events.into_iter().rev().find(|&x| x < from)
        };
        if let Some(x) = next {
            self.jump(x, bounds);
        }
    }

    /// Brings a place to the middle and puts the cursor there.
    fn jump(&mut self, x: f64, bounds: &Bounds) {
        self.region = navigation::centred(self.region, x, bounds);
        self.cursor_x = Some(x);
    }

    /// A failed allocation on an axis, as soon as it is known there.
    fn oom_x(&self, moment: u32, axis: Axis) -> Option<f64> {
        match axis {
            Axis::Events => Some(f64::from(moment)),
            Axis::Time => {
                let mut ooms = self.overview.iter().flat_map(|overview| &overview.ooms);
                ooms.find(|mark| mark.moment == moment).map(|mark| mark.x)
            }
        }
    }

    pub(super) fn select(&mut self, range: Option<(f64, f64)>) {
        self.selection = None;
        self.range = range
            .map(|(a, b)| (a.min(b), a.max(b)))
            .filter(|(from, to)| to > from);
    }

    /// Selects what lies between two places of the picture; outside it nothing can be selected.
    pub(super) fn select_between(&mut self, from: f64, to: f64) {
        let unit = self.region.unit();
        self.select(Some((
            unit.x_at(from.clamp(0.0, 1.0)),
            unit.x_at(to.clamp(0.0, 1.0)),
        )));
    }

    /// Pins what is at a place of the picture (device px), as soon as that is known; where several share the
    /// pixel, goes closer.
    pub(super) fn click(&mut self, at_px: (f64, f64), bounds: &Bounds) {
        let click = Click {
            at_px,
            region: self.region,
            axis: self.axis,
        };
        match self.hovered.clone().filter(|hit| click.is_at(hit)) {
            Some(hit) => self.act_on_hit(&hit, bounds),
            None => self.clicked = Some(click),
        }
    }

    /// Pins what was hit; where nothing is, lets go; where several are, goes closer until there is one.
    fn act_on_hit(&mut self, hit: &Hit, bounds: &Bounds) {
        self.clicked = None;
        match &hit.on {
            HitOn::One(preview) => self.pin(preview.allocation),
            HitOn::Nothing => {
                self.pinned = None;
                self.details = None;
            }
            HitOn::Several(_) => {
                let viewport = &hit.draw.viewport;
                let at = (
                    hit.at_px.0 / f64::from(viewport.width_px),
                    hit.at_px.1 / f64::from(viewport.height_px),
                );
                let factor = (CLOSER, CLOSER);
                self.navigate(Navigation::Zoom { factor, at }, self.axis, bounds);
            }
        }
    }

    /// The pointer is over the picture, or no longer.
    pub(super) fn point(&mut self, is_over: bool) {
        self.pointer_left = !is_over;
        if !is_over {
            self.hovered = None;
        }
    }

    /// Another device is shown: nothing points here any more.
    pub(super) fn hide(&mut self) {
        self.hovered = None;
        self.clicked = None;
    }

    fn take_hit(&mut self, hit: Hit, bounds: &Bounds) {
        if self.clicked.is_some_and(|click| click.is_at(&hit)) {
            self.act_on_hit(&hit, bounds);
        }
        if !self.pointer_left && is_of(&hit.draw, self.region, self.axis) {
            self.hovered = Some(Shared::new(hit));
        }
    }

    pub(super) fn pin(&mut self, allocation: AllocationId) {
        if self.pinned != Some(allocation) {
            self.pinned = Some(allocation);
            self.details = None;
            self.cursor_x = None;
        }
        self.wants_fit = false;
    }

    /// Lets go of the pin, then of the cursor, then of the selection.
    pub(super) fn let_go(&mut self) {
        if self.pinned.take().is_some() {
            self.details = None;
            self.cursor_x = None;
        } else if self.cursor_x.take().is_none() {
            self.select(None);
        }
    }

    /// Takes an answer about this device; one that is no longer wanted changes nothing.
    pub(super) fn take(&mut self, reply: Reply, bounds: &Bounds) {
        match reply {
            Reply::Hit(hit) => self.take_hit(*hit, bounds),
            Reply::Details(details) if self.pinned == Some(details.allocation) => {
                self.details = Some(Shared::new(*details));
                if std::mem::take(&mut self.wants_fit) {
                    self.navigate(Navigation::FitPinned, self.axis, bounds);
                }
            }
            Reply::Overview(overview) if overview.axis == self.axis => {
                self.overview = Some(Shared::new(overview));
            }
            Reply::Range(facts) => self.take_range(facts, bounds),
            Reply::Legend(legend) => self.legend = Some(Shared::new(legend)),
            _ => {}
        }
    }
}
