//! What the page in a frame tells the page around it: the progress of its file, and what is shown of it.

use serde::Serialize;

use super::{Permalink, Phase, State};

/// A message to the page around this one. An error may quote the file, so that not every page is told all of it: see
/// [`door`](crate::browser::door).
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Told {
    /// The file is being read.
    Progress {
        name: String,
        /// Bytes of the file read so far.
        loaded: u64,
        /// Size of the file in bytes; `None` if a server does not say.
        total: Option<u64>,
    },
    /// The file is shown.
    Load {
        name: String,
        /// Size of the file as it is stored.
        bytes: u64,
    },
    /// The file cannot be shown.
    Error {
        name: String,
        message: String,
        advice: String,
    },
    /// What is shown, as the text behind `#` in the page's address.
    Place { place: String },
}

impl Told {
    /// What is told of the shown file; `None` without one.
    #[must_use]
    pub fn of_file(state: &State) -> Option<Self> {
        let tab = state.tab()?;
        let name = tab.name.clone();
        Some(match &tab.phase {
            Phase::Opening(progress) => Self::Progress {
                name,
                loaded: progress.done_bytes,
                total: progress.total_bytes,
            },
            Phase::Failed(failure) => Self::Error {
                name,
                message: failure.message.clone(),
                advice: failure.advice.clone(),
            },
            Phase::Ready(_) | Phase::Graphs(_) | Phase::Fleet(_) | Phase::Text(_) => Self::Load {
                name,
                bytes: tab.file_bytes()?,
            },
        })
    }

    /// What is told of a place; `None` of the one without a file.
    #[must_use]
    pub fn of_place(link: &Permalink) -> Option<Self> {
        link.file.as_ref()?;
        let place = link.to_text();
        Some(Self::Place { place })
    }
}
