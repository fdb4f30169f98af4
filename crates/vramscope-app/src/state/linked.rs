//! Files that the page's own address names (`?src=`). Whoever made the link chose them, not the user, who is asked
//! before they are many or large.

use vramscope_protocol::{Stage, UNASKED_BYTES};
use vramscope_view::display;

use super::{Phase, State, Tab};
use crate::engine::SessionId;

/// The most files that are opened without a question.
pub const UNASKED_FILES: usize = 8;

/// The most hosts that a question names.
const NAMED_HOSTS: usize = 3;

/// What the user is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// Number of files.
    pub files: usize,
    /// Where they come from, each host once.
    pub hosts: Vec<String>,
    /// Their size in all, as far as it is known; `None` before anything is fetched.
    pub bytes: Option<u64>,
}

impl Question {
    fn of<'a>(hosts: impl Iterator<Item = &'a String>, bytes: Option<u64>) -> Self {
        let mut question = Self {
            files: 0,
            hosts: Vec::new(),
            bytes,
        };
        for host in hosts {
            question.files += 1;
            if !question.hosts.contains(host) {
                question.hosts.push(host.clone());
            }
        }
        question
    }

    /// `Open 300 files?`
    #[must_use]
    pub fn title(&self) -> String {
        match (self.bytes, self.files) {
            (None, files) => format!("Open {files} files?"),
            (Some(bytes), _) => format!("Download {}?", display::bytes(bytes)),
        }
    }

    /// Who asks for what, in a sentence or two.
    #[must_use]
    pub fn text(&self) -> String {
        let named = self.hosts.len().min(NAMED_HOSTS);
        let mut hosts = self.hosts[..named].join(", ");
        match self.hosts.len() - named {
            0 => {}
            1 => hosts.push_str(" and another host"),
            more => hosts.push_str(&format!(" and {more} other hosts")),
        }
        let files = match self.files {
            1 => "a file".to_owned(),
            files => format!("{files} files"),
        };
        let size = match self.bytes {
            None => "Their sizes are not known yet.".to_owned(),
            Some(bytes) => format!(
                "At least {} would be downloaded and kept in memory.",
                display::bytes(bytes)
            ),
        };
        format!("The link to this page names {files} on {hosts}. {size}")
    }
}

impl State {
    /// What the user is asked about the files of the page's address; `None` if nothing.
    #[must_use]
    pub fn question(&self) -> Option<Question> {
        if !self.offered.is_empty() {
            return Some(Question::of(self.offered.iter(), None));
        }
        let tabs = || self.tabs.iter().filter(|tab| tab.linked_host.is_some());
        let bytes: u64 = tabs()
            .map(|tab| known_bytes(tab))
            .fold(0, u64::saturating_add);
        let asks = !self.large_allowed
            && bytes > UNASKED_BYTES
            && self.linked_downloads().next().is_some();
        asks.then(|| {
            Question::of(
                tabs().filter_map(|tab| tab.linked_host.as_ref()),
                Some(bytes),
            )
        })
    }

    /// The files of the page's address that are being downloaded, or will be.
    pub fn linked_downloads(&self) -> impl Iterator<Item = SessionId> {
        let is_fetched = |tab: &Tab| matches!(&tab.phase, Phase::Opening(progress) if progress.stage == Stage::Fetching);
        let tabs = self.tabs.iter();
        tabs.filter(move |tab| tab.linked_host.is_some() && is_fetched(tab))
            .map(|tab| tab.id)
    }
}

/// The size of a file that the server has told, or that has come.
fn known_bytes(tab: &Tab) -> u64 {
    match &tab.phase {
        Phase::Opening(progress) => progress.total_bytes.unwrap_or(0).max(progress.done_bytes),
        _ => tab.file_bytes().unwrap_or(0),
    }
}
