//! Pictures of files that change: that of the last version stays until that of the next is there.

use vramscope_protocol::DrawRequest;

use super::State;

impl State {
    /// Whether the wanted picture is of another version of the file.
    pub(super) fn is_other_version(&self, draw: &DrawRequest) -> bool {
        let wanted = self.wanted.as_ref();
        wanted.is_some_and(|(wanted, _)| wanted.look.version != draw.look.version)
    }

    /// Whether all that is here is of another version of the file, and that of this one is on its way.
    pub(super) fn awaits_version(&self, wanted: &DrawRequest) -> bool {
        let shown = self.picture_shows.as_ref().or(self.last_shown.as_ref());
        let is_old = shown.is_some_and(|(area, shown)| {
            *area == self.area && shown.look.version != wanted.look.version
        });
        let is_sharp = self.pictures.sharp(wanted).is_some();
        is_old && (self.drawing.is_some() || (is_sharp && self.labels.are_awaited(wanted)))
    }
}
