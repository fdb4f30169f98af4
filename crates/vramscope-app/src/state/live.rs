//! Files that change while they are shown: what is known of them, and what stays in its place from one version to the
//! next.

use serde::{Deserialize, Serialize};
use vramscope_protocol::{Adopt, Adopted, DeviceFacts};
use vramscope_view::display;

use super::file::{OpenFile, Tab};
use super::{State, sentences};

/// The choices about files that change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveChoices {
    /// Whether the picture goes along with the newest events.
    pub follow: bool,
}

impl Default for LiveChoices {
    fn default() -> Self {
        Self { follow: true }
    }
}

/// What the page's server tells of its files.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Live {
    /// Whether the server is heard.
    pub is_connected: bool,
    /// The server's time less that of the page, in µs.
    pub ahead_us: f64,
    /// In the order in which the page was given them; `None` for one that cannot change.
    pub files: Vec<Option<News>>,
}

/// The newest version of a file.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct News {
    /// Different for each version.
    pub version: String,
    /// When it was written, in µs since the Unix epoch.
    pub written_us: f64,
    /// Whether `vramscope-capture` goes on writing versions; `None` if that cannot be known.
    pub is_written: Option<bool>,
    /// Whether the file is no longer there.
    #[serde(default)]
    pub is_gone: bool,
}

/// How often in a row a version cannot be read before it is said: one that is half written can be read a moment later.
const TRIES: u32 = 2;

/// What a badge says of a file.
#[derive(Clone, PartialEq, Debug)]
pub struct Badge {
    /// Whether more may come.
    pub is_live: bool,
    /// A few words.
    pub text: String,
    /// All that is known.
    pub title: String,
}

impl Live {
    /// The news of a tab's file; `None` if it does not change.
    #[must_use]
    pub fn of(&self, tab: &Tab) -> Option<&News> {
        self.files.get(tab.served?)?.as_ref()
    }

    /// What a badge says at a time of the page, in µs since the Unix epoch; `None` for a file that does not change.
    #[must_use]
    pub fn badge(&self, tab: &Tab, now_us: f64) -> Option<Badge> {
        let (news, file) = (self.of(tab)?, tab.ready()?);
        let recorded = file.opened.file.recorded;
        let read_us = recorded
            .filter(|it| it.is_running)
            .and_then(|it| it.read_us);
        let of_us = read_us.map_or(news.written_us, |us| us as f64);
        let ago = ago(now_us + self.ahead_us - of_us);
        let has_ended = recorded.is_some_and(|it| !it.is_running);
        let fault = file.fault.as_ref().filter(|_| file.failures >= TRIES);
        let is_left = recorded.is_some() && news.is_written == Some(false);
        let (word, what) = if has_ended {
            ENDED
        } else if is_left {
            LEFT
        } else if !self.is_connected {
            NOT_CONNECTED
        } else if news.is_gone {
            GONE
        } else if fault.is_some() {
            NOT_READABLE
        } else if recorded.is_some() {
            RECORDED
        } else {
            READ_AGAIN
        };
        let mut title = format!("{what}\nAs of {ago}.");
        let mut text = format!("{word}, {ago}");
        if let Some(fault) = fault {
            title.push_str(&format!("\n{}", sentences::capital(&fault.message)));
        }
        if let Some(recorded) = recorded {
            let (lost, older) = (recorded.lost_records, recorded.dropped_entries);
            if older > 0 {
                let older = sentences::count_of(older, "older event was", "older events were");
                title.push_str(&format!("\n{older} let go: only the newest are kept."));
            }
            if lost > 0 {
                text.push_str(&format!(" · {} lost", display::count(lost)));
                let lost = sentences::count_of(lost, "record", "records");
                title.push_str(&format!("\n{lost} lost: the log was full."));
            }
        }
        Some(Badge {
            is_live: word == "live",
            text,
            title,
        })
    }
}

/// What a badge says: in a word, and what that means.
type Said = (&'static str, &'static str);

const ENDED: Said = (
    "ended",
    "The program has ended: this is all that was recorded last.",
);
const LEFT: Said = (
    "ended",
    "Nobody writes this file any more: the recorder has ended, and did not see the program's end.",
);
const NOT_CONNECTED: Said = (
    "not connected",
    "vramscope view, which serves this page, does not answer. What is shown stays.",
);
const GONE: Said = (
    "file is gone",
    "The file is no longer there. What is shown stays, and a new one is read once it is written.",
);
const NOT_READABLE: Said = (
    "not readable",
    "The file was written again, and cannot be read. What is shown stays.",
);
const RECORDED: Said = (
    "live",
    "The program is running. This is the picture of its newest events.",
);
const READ_AGAIN: Said = ("live", "The file is read again whenever it is written.");

/// `1.2 s ago`; whole seconds from ten on, as nobody reads more.
fn ago(us: f64) -> String {
    let seconds = (us / 1e6).max(0.0);
    match seconds {
        ..10.0 => format!("{seconds:.1} s ago"),
        ..120.0 => format!("{seconds:.0} s ago"),
        ..7200.0 => format!("{:.0} min ago", seconds / 60.0),
        ..172_800.0 => format!("{:.0} h ago", seconds / 3600.0),
        _ => format!("{:.0} days ago", seconds / 86_400.0),
    }
}

impl State {
    /// Takes what the page's server tells; `None` if it is not heard.
    pub(super) fn hear(&mut self, news: Option<Box<Live>>) {
        match news {
            Some(live) => self.live = *live,
            None => self.live.is_connected = false,
        }
    }

    /// Follows the newest events of a file that changes, or stays where it is.
    pub(super) fn follow(&mut self, on: bool) {
        self.choices.live.follow = on;
        if let (true, Some(bounds)) = (on, self.file().and_then(|file| file.bounds())) {
            self.edit_view(|view| view.show_end(&bounds));
        }
    }

    /// Whoever goes back from the newest events of a version lets go of them, and whoever comes back follows them again.
    pub(super) fn follow_newest(&mut self, before: &Self) {
        let seen = |state: &Self| {
            let tab = state.tab().filter(|tab| tab.is_live())?;
            let file = tab.ready()?;
            let of = (tab.id, file.version, file.device, file.axis);
            let region = file.view()?.region;
            Some((of, (region.x_min, region.x_max), file.bounds()?.x_end))
        };
        if let (Some((of, x, _)), Some((now_of, now_x, x_end))) = (seen(before), seen(self))
            && of == now_of
            && x != now_x
        {
            self.choices.live.follow = now_x.1 >= x_end;
        }
    }
}

/// The question that goes over to the next version of a file, if one was read.
#[must_use]
pub fn adoption(file: &OpenFile) -> Option<Adopt> {
    let views = file.devices.iter().zip(&file.views);
    file.has_next.then(|| Adopt {
        version: file.version + 1,
        places: views
            .map(|(facts, view)| view.place(facts.device))
            .collect(),
        pools: file.pools.clone(),
    })
}

/// Goes over to the next version of a file. `follow`: the newest events stay in view.
pub(super) fn adopt(file: &mut OpenFile, adopted: Adopted, follow: bool) {
    let Adopted {
        version,
        opened,
        within,
        carried,
    } = adopted;
    let shown = file.facts().map(|facts| facts.device);
    let next = OpenFile::new(opened);
    let before = std::mem::replace(file, next);
    (file.version, file.axis, file.picture) = (version, before.axis, before.picture);
    file.lanes = before.lanes;
    if let Some(within) = within {
        file.narrow(within);
    }
    let place_of = |devices: &[DeviceFacts], device| {
        devices
            .iter()
            .position(|facts| Some(facts.device) == device)
    };
    for (place, facts) in file.devices.iter().enumerate() {
        let was = place_of(&before.devices, Some(facts.device));
        let known = carried.iter().find(|it| it.asked.device == facts.device);
        let (Some(was), Some(known)) = (was, known) else {
            continue;
        };
        let mut view = before.views[was].clone();
        let of = |facts| before.lanes.bounds(facts, view.picture, view.axis);
        let (old, new) = (of(&before.devices[was]), of(facts));
        view.carry(known, facts, (&old, &new), follow);
        file.views[place] = view;
    }
    file.device = place_of(&file.devices, shown).unwrap_or(0);
    if file.facts().is_none_or(|facts| facts.axes.time.is_none()) {
        file.choose_axis(file.axis);
    }
    file.choose_picture(file.picture);
    file.keep_dismissed(&before);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_calm() {
        for (seconds, text) in [
            (-3.0, "0.0 s ago"),
            (1.24, "1.2 s ago"),
            (59.6, "60 s ago"),
            (150.0, "2 min ago"),
            (7300.0, "2 h ago"),
            (500_000.0, "6 days ago"),
        ] {
            assert_eq!(ago(seconds * 1e6), text);
        }
    }
}
