//! What is under the pointer or was clicked, and what shares the pixel that an address tells.

use super::{Cursor, DeviceView};
use crate::state::click::{self, Click, shows};
use crate::state::pin::{Pin, PinnedGroup, PinnedSegment};
use crate::state::{Navigation, Shared};
use vramscope_protocol::{Bounds, Hit, HitOn, Picture};
use vramscope_view::address::Pixel;

impl DeviceView {
    /// Pins the thing at a place of the picture, device px, once it is known. Zooms in if several share the pixel.
    pub(in crate::state) fn click(&mut self, picture: Picture, at_px: (f64, f64), bounds: &Bounds) {
        let click = Click {
            at_px,
            region: self.region,
            axis: self.axis,
            picture,
            wants_fit: false,
        };
        match self.hovered.clone().filter(|hit| click.is_at(hit)) {
            Some(hit) => self.act_on_hit(&hit, bounds),
            None => self.clicked = Some(click),
        }
    }

    /// Pins what was hit, and clears the pin if that is nothing.
    fn act_on_hit(&mut self, hit: &Hit, bounds: &Bounds) {
        let clicked = self.clicked.take();
        if let Some(facts) = hit.moment {
            // The clicked moment becomes that of all views.
            self.cursor = Some(Cursor {
                moment: facts.moment,
                x: Some(facts.x),
                facts: Some(facts),
            });
        }
        match &hit.on {
            HitOn::One(preview) => self.pin(preview.allocation),
            HitOn::Segment(segment) | HitOn::Free { segment, .. } => {
                self.set_pin(Some(Pin::Segment(PinnedSegment::of(segment, &hit.draw))));
            }
            HitOn::Several(_) => {
                let region = clicked.map_or(self.region, |click| click.region);
                self.set_pin(PinnedGroup::of_hit(hit, region).map(Pin::Group));
            }
            HitOn::Nothing | HitOn::Unmapped { .. } => self.set_pin(None),
        }
        if clicked.is_some_and(|click| click.wants_fit) {
            self.navigate(Navigation::FitPinned, self.axis, bounds);
        }
    }

    /// Takes whether the pointer is over the picture.
    pub(in crate::state) fn point(&mut self, is_over: bool) {
        self.pointer_left = !is_over;
        if !is_over {
            self.hovered = None;
        }
    }

    /// Forgets the pointer, as another device or view is shown.
    pub(in crate::state) fn hide(&mut self) {
        self.hovered = None;
        self.lit = None;
        self.clicked = None;
    }

    /// The pixel of a pinned group whose allocations are not known yet.
    #[must_use]
    pub fn unknown_group(&self) -> Option<Pixel> {
        match &self.pin {
            Some(Pin::Group(group)) if self.stale.group => group.pixel(),
            Some(Pin::Group(group)) => group.unknown(),
            _ => None,
        }
    }

    /// Takes what is under the pixel of a group that an address told: mostly several allocations, but the file or the
    /// search may be another.
    fn take_group(&mut self, hit: Hit) {
        self.stale.group = false;
        let known = match hit.on {
            HitOn::One(preview) => Some(Pin::Allocation(preview.allocation)),
            HitOn::Several(several) => match self.pin.take() {
                Some(Pin::Group(group)) => Some(Pin::Group(PinnedGroup {
                    several: Some(Shared::new(several)),
                    ..group
                })),
                other => other,
            },
            _ => None,
        };
        self.set_pin(known);
    }

    pub(super) fn take_hit(&mut self, hit: Hit, bounds: &Bounds) {
        if self
            .unknown_group()
            .is_some_and(|pixel| click::is_of(&hit, pixel))
        {
            return self.take_group(hit);
        }
        if self.clicked.is_some_and(|click| click.is_at(&hit)) {
            self.act_on_hit(&hit, bounds);
        }
        let look = &hit.draw.look;
        let is_current = look.axis == self.axis && self.picture.shows(look.picture);
        if !self.pointer_left && is_current && shows(&hit.draw, self.region) {
            self.hovered = Some(Shared::new(hit));
        }
    }
}
