//! The visible part while the user moves it, ahead of the state, which learns of it when it rests.

use vramscope_protocol::{Bounds, Viewport};

use super::{Navigation, State};

/// The visible part of the shown picture.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Motion {
    /// The visible part, and the bounds of the picture; `None` without a picture.
    seen: Option<(Viewport, Bounds)>,
    /// The visible part as the state knows it.
    known: Option<Viewport>,
}

impl Motion {
    /// Shows what the state shows, if that has changed since the state learned of the last motion.
    pub fn follow(&mut self, state: &State) {
        let shown = state.file().and_then(|file| {
            let region = file.view()?.region;
            Some((region, file.bounds()?))
        });
        let known = shown.map(|(region, _)| region);
        self.seen = match (self.seen, shown) {
            (Some((seen, _)), Some((_, bounds))) if known == self.known => Some((seen, bounds)),
            _ => shown,
        };
        self.known = known;
    }

    /// The visible part; `None` without a picture.
    #[must_use]
    pub fn seen(&self) -> Option<Viewport> {
        self.seen.map(|(seen, _)| seen)
    }

    /// Moves on. Returns whether that was possible: jumps are for the state to make.
    pub fn go(&mut self, navigation: Navigation) -> bool {
        let is_motion = matches!(
            navigation,
            Navigation::Zoom { .. } | Navigation::Pan(..) | Navigation::ShowX(..)
        );
        let Some((seen, bounds)) = self.seen.as_mut().filter(|_| is_motion) else {
            return false;
        };
        *seen = navigation.apply(*seen, bounds);
        true
    }

    /// What the state must learn now; `None` if it knows all.
    pub fn rest(&mut self) -> Option<Navigation> {
        let seen = self.seen().filter(|seen| self.known != Some(*seen))?;
        self.known = Some(seen);
        Some(Navigation::Show(seen))
    }
}
