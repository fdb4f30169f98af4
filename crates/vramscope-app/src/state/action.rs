//! The changes of the state.

use vramscope_core::analysis::time::selection::Moments;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;
use vramscope_protocol::views::flame::BoxOf;
use vramscope_protocol::{Answer, Axis, ColourBy, Picture, Reply};

use super::choices::SettingChanges;
use super::live::Live;
use super::{
    Chosen, GraphAction, Navigation, Permalink, PinnedGroup, Shared, ThemeChoice, ViewKind,
};
use crate::engine::SessionId;

/// A change of the state. What workers say is taken out of it, so a clone of that changes nothing more.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// A worker has been given a file: from the drop area, the picker, a sample or `?src=`.
    Open {
        id: SessionId,
        /// The name for its tab.
        name: String,
        /// The host that the page's own address names; `None` for a file that the user chose.
        linked_host: Option<String>,
        /// The file's number among those that the page's server was given and follows; `None` for others.
        served: Option<usize>,
    },
    /// The page's server tells of its files, or is not heard.
    News(Option<Box<Live>>),
    /// The picture goes along with the newest events of a file that changes, or stays where it is.
    Follow(bool),
    /// The page's address names more files than are opened unasked; these are their hosts. Without any, the question
    /// is answered.
    Offer(Vec<String>),
    /// Files of the page's address may be large.
    AllowLarge,
    /// A worker sends a message about its file.
    Reply(SessionId, Shared<Reply>),
    /// A worker answers a question that the state acts on: a hit, a moment, a range, details.
    Answer(SessionId, Shared<Answer>),
    /// A tab is closed.
    Close(SessionId),
    /// A tab is chosen.
    Switch(SessionId),
    /// The tab that many places to the right is chosen, going round.
    SwitchBy(isize),
    /// The start page is shown. Files stay open.
    ShowStart,
    /// A view of the rail is chosen.
    View(ViewKind),
    /// The findings are asked for.
    Explain,
    /// A device of the current file is chosen, by its index in the list.
    Device(usize),
    /// The x axis is chosen.
    Axis(Axis),
    /// A meaning of colours is chosen.
    ColourBy(ColourBy),
    /// The text of the search box changes.
    Search(String),
    /// The next match is asked for, or (`false`) the one before.
    NextMatch(bool),
    /// Something is chosen in a view.
    Choose(Chosen),
    /// The cursor goes to this moment; the picture follows only if it shows another place.
    Moment(u32),
    /// The cursor goes to this moment; the picture stays.
    Scrub(u32),
    /// The cursor goes on (`true`) or back by a hundredth of what is visible.
    StepCursor(bool),
    /// The range between two moments is selected.
    SelectMoments(Moments),
    /// What is reserved in a replay with these settings is drawn over the timeline.
    DrawReplay(Box<SettingChanges>),
    /// The place of an address is shown, at the latest once its file is open.
    Restore(Box<Permalink>),
    /// The place of an address is shown once its file, which is being read, is open.
    Await(Box<Permalink>),
    /// A theme is chosen.
    Theme(ThemeChoice),
    /// The visible part changes.
    Navigate(Navigation),
    /// A range of the x axis is selected, or none.
    Select(Option<(f64, f64)>),
    /// The range between two places of the picture, fractions of its width, is selected.
    SelectBetween(f64, f64),
    /// The pointer came over the picture, or left it.
    Point(bool),
    /// The bands of a box of the flame graph are lit up in the picture, or none.
    LightUp(Option<Box<BoxOf>>),
    /// A place of a picture is clicked, device px.
    Click(Picture, (f64, f64)),
    /// An allocation is pinned.
    Pin(AllocationId),
    /// The event that leads to this moment is pinned; the picture follows only if it shows another place.
    ChooseEvent(u32),
    /// Several allocations are pinned, which share a pixel of no picture over the x axis.
    PinGroup(PinnedGroup),
    /// The topmost of help, box zoom, pin and selection is cleared.
    LetGo,
    /// The next drag zooms to a box, or no longer does.
    BoxMode(bool),
    /// Drags measure, or no longer do.
    RulerMode(bool),
    /// The allocation above (`true`) or below the pinned one is pinned.
    StepInStack(bool),
    /// A step in the stack has led to an allocation, or to the end of the stack.
    SteppedInStack(Option<AllocationId>),
    /// The help is shown or hidden.
    Help(bool),
    /// The details panel is folded or unfolded.
    Details(bool),
    /// The details panel gets another width, in CSS px.
    DetailsWidth(f64),
    /// The packing of a device has got this height, in bytes.
    Packed(DeviceIndex, u64),
    /// A note of the current file is closed.
    DismissNote(usize),
    /// All notes of the current file are shown again.
    RestoreNotes,
    /// A change in the current file's graphs.
    Graph(GraphAction),
}
