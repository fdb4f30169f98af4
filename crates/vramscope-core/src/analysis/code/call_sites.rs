//! Call sites: the one frame of a stack that best shows where in the code an allocation was made.
//!
//! A call site is the innermost frame of user code. A stack without user code (threads that run the backward pass have
//! no Python frames) uses its most informative frame instead. Each distinct stack is resolved once, and sites are
//! numbered densely, so that allocations can be coloured and summed by them.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::any_of::AnyOf;
use super::frames::{
    FrameClass, FrameClasses, Location, by_texts, clip, clip_end, is_python_source, is_torch_name,
};
use super::operators::PROFILED_NODE;
use crate::Snapshot;
use crate::analysis::time::history::{History, StackSource};
use crate::ids::{AllocationId, FrameId, StackId};

/// A row of [`CallSites`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallSiteId(pub u32);

impl CallSiteId {
    /// The site of allocations without a stack.
    pub const NONE: Self = Self(0);

    /// The row number, for indexing a column.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What happened at a call site.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallSiteKind {
    /// Memory was allocated here.
    Allocated,
    /// Memory older than the recording was freed here; its allocation is unknown.
    Freed,
    /// The stack was not recorded.
    Unknown,
}

/// The most bytes of a function or file name in a label. Each call site has its own label.
const LABEL_PART_BYTES: usize = 512;
/// The label of allocations without a stack.
pub const NO_STACK: &str = "no stack recorded";

/// A place in the code that allocated or freed memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CallSite {
    /// `folder/file:line function`. Equal for the same code on every machine and in every file, so its hash gives a
    /// stable colour.
    pub label: String,
    /// The class of its code.
    pub class: FrameClass,
    /// What happened there.
    pub kind: CallSiteKind,
    /// A frame with this location; `None` without a stack.
    pub frame: Option<FrameId>,
}

/// The call sites of a snapshot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallSites {
    sites: Vec<CallSite>,
    /// By stack: the site of its allocations.
    allocated: Vec<CallSiteId>,
    /// By stack: the site of its frees. Empty if frees carry the stack of the allocation.
    freed: Vec<CallSiteId>,
}

impl CallSites {
    /// Finds the call site of every stack. `histories` must contain all devices of the snapshot.
    #[must_use]
    pub fn of(snapshot: &Snapshot, classes: &FrameClasses, histories: &[History]) -> Self {
        let ranks = ranks(snapshot, classes);
        let frames: Vec<_> = (0..snapshot.stacks.len())
            .map(|row| site_frame(snapshot, &ranks, StackId::from_index(row)))
            .collect();
        let mut builder = Builder::new(snapshot, classes);
        let allocated = frames
            .iter()
            .map(|&frame| builder.site(frame, CallSiteKind::Allocated))
            .collect();
        let freed = if frees_carry_alloc_stacks(snapshot, histories) {
            Vec::new()
        } else {
            builder.sites_of_frees(&frames, histories)
        };
        Self {
            sites: builder.sites,
            allocated,
            freed,
        }
    }

    /// All sites; row 0 is [`CallSiteId::NONE`].
    #[must_use]
    pub fn sites(&self) -> &[CallSite] {
        &self.sites
    }

    /// The labels of all sites. The label of [`CallSiteId::NONE`] is empty.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &str> {
        self.sites.iter().map(|site| site.label.as_str())
    }

    /// Whether frees were recorded with the stack of the allocation; see [`frees_carry_alloc_stacks`].
    #[must_use]
    pub fn frees_carry_alloc_stacks(&self) -> bool {
        self.freed.is_empty()
    }

    /// The site of `id`.
    ///
    /// # Panics
    /// If `id` comes from another snapshot.
    #[must_use]
    pub fn get(&self, id: CallSiteId) -> &CallSite {
        &self.sites[id.index()]
    }

    /// The site of a stack's allocations.
    #[must_use]
    pub fn of_stack(&self, stack: StackId) -> CallSiteId {
        self.allocated
            .get(stack.index())
            .copied()
            .unwrap_or(CallSiteId::NONE)
    }

    /// The site that made an allocation, or else the site that freed it.
    #[must_use]
    pub fn of_allocation(
        &self,
        snapshot: &Snapshot,
        history: &History,
        id: AllocationId,
    ) -> CallSiteId {
        match history.stack(snapshot, id) {
            (stack, StackSource::Free) if !self.freed.is_empty() => self
                .freed
                .get(stack.index())
                .copied()
                .unwrap_or(CallSiteId::NONE),
            (stack, _) => self.of_stack(stack),
        }
    }

    /// The sites of all of a device's allocations, as a column.
    #[must_use]
    pub fn of_allocations(&self, snapshot: &Snapshot, history: &History) -> Vec<CallSiteId> {
        (0..history.allocations.len())
            .map(|row| self.of_allocation(snapshot, history, AllocationId::from_index(row)))
            .collect()
    }
}

/// Whether frees were recorded with the stack of the allocation, as with `context="alloc"`. Such a stack gives the
/// origin of memory older than the recording.
#[must_use]
pub fn frees_carry_alloc_stacks(snapshot: &Snapshot, histories: &[History]) -> bool {
    /// Allocations to compare. If frees have their own stacks, few share the stack of the allocation.
    const SAMPLE: usize = 64;
    let both = histories.iter().flat_map(|history| {
        (0..history.allocations.len()).filter_map(|row| {
            let id = AllocationId::from_index(row);
            Some((history.alloc_event(id)?, history.free_requested_event(id)?))
        })
    });
    let mut pairs = both
        .map(|(alloc, free)| {
            (
                snapshot.events.stack[alloc.index()],
                snapshot.events.stack[free.index()],
            )
        })
        .filter(|(alloc, _)| alloc.has_frames())
        .take(SAMPLE)
        .peekable();
    pairs.peek().is_some() && pairs.all(|(alloc, free)| alloc == free)
}

/// How well a frame serves as a call site. The lowest rank of a stack wins, then the innermost frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Rank {
    User,
    PythonLibrary,
    /// A gradient: `torch::autograd::generated::MmBackward0::apply`.
    AutogradNode,
    /// C++ outside of PyTorch.
    ForeignNative,
    /// An operator: `at::_ops::mm::call`.
    Operator,
    OtherLibrary,
    /// The allocator and the creation of tensors, which are on every stack and say nothing.
    Plumbing,
    Runtime,
}

fn ranks(snapshot: &Snapshot, classes: &FrameClasses) -> Vec<Rank> {
    by_texts(snapshot, |id| {
        let location = Location::of(snapshot, snapshot.frames.get(id));
        match classes.get(id) {
            FrameClass::User => Rank::User,
            FrameClass::Runtime => Rank::Runtime,
            FrameClass::Library if is_python_source(location.file) => Rank::PythonLibrary,
            // The driver's function is the innermost frame of every stack of a captured program.
            FrameClass::Library if location.file.starts_with("libcuda.so") => Rank::Plumbing,
            FrameClass::Library => native_rank(location.function),
        }
    })
}

fn native_rank(name: &str) -> Rank {
    static PLUMBING: LazyLock<AnyOf> = LazyLock::new(|| {
        AnyOf::new(&[
            "CUDACachingAllocator",
            "StorageImpl",
            "TensorImpl",
            "intrusive_ptr",
            "at::detail::",
            "set_output_raw",
            "create_out(",
            "wrap_kernel_functor",
            "empty_cuda",
            "empty_strided",
            "cudarc::",
            "thread_init",
            "thread_main",
        ])
    });
    if name.is_empty() || name == "??" || PLUMBING.is_in(name) {
        return Rank::Plumbing;
    }
    let is_node = name.contains("::generated::") || name.contains("AccumulateGrad::apply");
    if is_node && name.contains("::apply") || name.starts_with(PROFILED_NODE) {
        return Rank::AutogradNode;
    }
    if name.contains("at::_ops::") || name.starts_with("aten::") {
        return Rank::Operator;
    }
    let is_foreign = name.contains("::") && !is_torch_name(name) && !name.starts_with('<');
    if is_foreign {
        Rank::ForeignNative
    } else {
        Rank::OtherLibrary
    }
}

fn site_frame(snapshot: &Snapshot, ranks: &[Rank], stack: StackId) -> Option<FrameId> {
    snapshot
        .stacks
        .frames(stack)
        .min_by_key(|frame| ranks.get(frame.index()).copied().unwrap_or(Rank::Runtime))
}

/// Interns sites by label and kind.
struct Builder<'a> {
    snapshot: &'a Snapshot,
    classes: &'a FrameClasses,
    sites: Vec<CallSite>,
    by_label: HashMap<(String, CallSiteKind), CallSiteId>,
    by_frame: HashMap<(FrameId, CallSiteKind), CallSiteId>,
}

impl<'a> Builder<'a> {
    fn new(snapshot: &'a Snapshot, classes: &'a FrameClasses) -> Self {
        let none = CallSite {
            label: NO_STACK.to_owned(),
            class: FrameClass::Runtime,
            kind: CallSiteKind::Unknown,
            frame: None,
        };
        Self {
            snapshot,
            classes,
            sites: vec![none],
            by_label: HashMap::new(),
            by_frame: HashMap::new(),
        }
    }

    fn site(&mut self, frame: Option<FrameId>, kind: CallSiteKind) -> CallSiteId {
        let Some(frame) = frame else {
            return CallSiteId::NONE;
        };
        if let Some(&known) = self.by_frame.get(&(frame, kind)) {
            return known;
        }
        let place = label(&Location::of(
            self.snapshot,
            self.snapshot.frames.get(frame),
        ));
        let text = if kind == CallSiteKind::Freed {
            format!("freed at {place}")
        } else {
            place
        };
        let next = CallSiteId(self.sites.len() as u32);
        let id = *self.by_label.entry((text.clone(), kind)).or_insert(next);
        if id == next {
            let class = self.classes.get(frame);
            self.sites.push(CallSite {
                label: text,
                class,
                kind,
                frame: Some(frame),
            });
        }
        self.by_frame.insert((frame, kind), id);
        id
    }

    /// The sites of frees. Only stacks that freed memory older than the recording get one.
    fn sites_of_frees(
        &mut self,
        frames: &[Option<FrameId>],
        histories: &[History],
    ) -> Vec<CallSiteId> {
        let mut freed = vec![CallSiteId::NONE; frames.len()];
        for history in histories {
            for row in 0..history.allocations.len() {
                let (stack, source) = history.stack(self.snapshot, AllocationId::from_index(row));
                if source == StackSource::Free
                    && let Some(&frame) = frames.get(stack.index())
                {
                    freed[stack.index()] = self.site(frame, CallSiteKind::Freed);
                }
            }
        }
        freed
    }
}

/// A call site's label: `models/llama.py:123 forward`.
#[must_use]
pub fn label(location: &Location<'_>) -> String {
    let function = short_function(location.function);
    let function = clip(&function, LABEL_PART_BYTES);
    let file = short_path(location.file);
    match (clip_end(&file, LABEL_PART_BYTES), location.line) {
        ("", _) => function.to_owned(),
        (file, 0) => format!("{file} {function}"),
        (file, line) => format!("{file}:{line} {function}"),
    }
}

/// The part of a path that is the same on every machine: below `site-packages`, or else the file and its folder.
#[must_use]
pub fn short_path(path: &str) -> String {
    let path = path.replace('\\', "/");
    for folder in ["/site-packages/", "/dist-packages/"] {
        if let Some((_, inside)) = path.rsplit_once(folder) {
            return inside.to_owned();
        }
    }
    // A notebook's cells are in a folder named after the process.
    let parts = if path.contains("/ipykernel_") { 1 } else { 2 };
    let start = path
        .rmatch_indices('/')
        .nth(parts - 1)
        .map_or(0, |(at, _)| at + 1);
    path[start..].to_owned()
}

/// Shortens a C++ signature by its arguments and template arguments, and a Python object by its address.
#[must_use]
pub fn short_function(name: &str) -> String {
    if let Some((before, _)) = name.split_once(" at 0x") {
        return format!("{before}{}", if name.starts_with('<') { ">" } else { "" });
    }
    if !name.contains("::") {
        return name.to_owned();
    }
    let name = name.replace("(anonymous namespace)::", "");
    let name = name.split(" [clone").next().unwrap_or(&name);
    let mut text = String::new();
    let mut depth = 0_usize;
    for character in name.chars() {
        match character {
            '<' if !text.ends_with("operator") => depth += 1,
            '>' if depth > 0 => depth -= 1,
            '(' if depth == 0 && !text.ends_with("operator") => break,
            _ if depth == 0 => text.push(character),
            _ => {}
        }
    }
    // The return type of a template function precedes its name.
    let start = text
        .trim_end()
        .rfind(' ')
        .filter(|_| !text.contains("operator"))
        .map_or(0, |at| at + 1);
    let short = text[start..]
        .trim()
        .trim_start_matches("torch::autograd::generated::");
    if short.is_empty() {
        name.to_owned()
    } else {
        short.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short_and_the_same_everywhere() {
        let of = |function, file, line| {
            label(&Location {
                function,
                file,
                line,
            })
        };
        assert_eq!(
            of("forward", "/root/KIVI/models/llama.py", 12),
            "models/llama.py:12 forward"
        );
        assert_eq!(
            of("forward", "D:\\Dev\\cs336\\model.py", 3),
            "cs336/model.py:3 forward"
        );
        assert_eq!(
            of(
                "mm",
                "/v/lib/python3.11/site-packages/torch/functional.py",
                9
            ),
            "torch/functional.py:9 mm"
        );
        assert_eq!(
            of("at::_ops::mm::call(at::Tensor const&)", "", 0),
            "at::_ops::mm::call"
        );
        assert_eq!(
            of("<cell>", "/tmp/ipykernel_12/345.py", 1),
            "345.py:1 <cell>"
        );
        assert_eq!(of("train", "train.py", 1), "train.py:1 train");
    }

    #[test]
    fn functions_lose_what_differs_between_runs() {
        for (name, short) in [
            (
                "<built-in method randn of type object at 0x7f0c>",
                "<built-in method randn of type object>",
            ),
            (
                "at::TensorBase at::detail::_empty_generic<long>(c10::ArrayRef<long>)",
                "at::detail::_empty_generic",
            ),
            (
                "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)",
                "MmBackward0::apply",
            ),
            (
                "at::(anonymous namespace)::create_out(long)",
                "at::create_out",
            ),
            (
                "torch::autograd::Node::operator()(std::vector<int>)",
                "torch::autograd::Node::operator()",
            ),
            ("forward", "forward"),
            (
                "c10::TensorImpl::~TensorImpl() [clone .localalias]",
                "c10::TensorImpl::~TensorImpl",
            ),
        ] {
            assert_eq!(short_function(name), short);
        }
    }

    fn labels_of(traces: &str) -> Vec<(String, CallSiteKind)> {
        let file = format!(r#"{{"segments": [], "device_traces": [[{traces}]]}}"#);
        let snapshot = crate::decode(file.as_bytes()).unwrap();
        let histories = [History::of(&snapshot, 0)];
        let sites = CallSites::of(&snapshot, &FrameClasses::of(&snapshot), &histories);
        let column = sites.of_allocations(&snapshot, &histories[0]);
        column
            .into_iter()
            .map(|id| (sites.get(id).label.clone(), sites.get(id).kind))
            .collect()
    }

    fn event(action: &str, addr: u64, frames: &[(&str, &str)]) -> String {
        let frames: Vec<_> = frames
            .iter()
            .map(|(name, file)| format!(r#"{{"name": "{name}", "filename": "{file}", "line": 1}}"#))
            .collect();
        let frames = frames.join(",");
        format!(
            r#"{{"action": "{action}", "addr": {addr}, "size": 8, "stream": 0, "frames": [{frames}]}}"#
        )
    }

    const ADAM: (&str, &str) = ("step", "/v/site-packages/torch/optim/adam.py");
    const INNER: (&str, &str) = ("inner", "/me/run/model.py");
    const OUTER: (&str, &str) = ("outer", "/me/run/train.py");
    const MALLOC: (&str, &str) = (
        "c10::cuda::CUDACachingAllocator::Native::malloc(void**)",
        "??",
    );
    const NODE: (&str, &str) = ("torch::autograd::generated::MmBackward0::apply(int)", "??");

    #[test]
    fn the_innermost_user_frame_stands_for_a_stack() {
        let traces = [
            event("alloc", 1, &[MALLOC, ADAM, INNER, OUTER]),
            event("alloc", 2, &[MALLOC, ADAM]),
            event("alloc", 3, &[MALLOC, NODE]),
            event("alloc", 4, &[MALLOC]),
            event("alloc", 5, &[]),
        ];
        let labels: Vec<_> = labels_of(&traces.join(","))
            .into_iter()
            .map(|(label, _)| label)
            .collect();
        assert_eq!(
            labels,
            [
                "run/model.py:1 inner",
                "torch/optim/adam.py:1 step",
                "MmBackward0::apply",
                "c10::cuda::CUDACachingAllocator::Native::malloc",
                "no stack recorded",
            ]
        );
    }

    #[test]
    fn the_stack_of_a_free_is_told_apart() {
        let free = [
            event("free_requested", 9, &[INNER]),
            event("free_completed", 9, &[INNER]),
        ]
        .join(",");
        let pair = |frames: &[_]| {
            let alloc = event("alloc", 1, &[OUTER]);
            format!(
                "{free},{alloc},{},{}",
                event("free_requested", 1, frames),
                event("free_completed", 1, frames)
            )
        };
        let first = |traces: &str| labels_of(traces).swap_remove(0);
        let freed = (
            "freed at run/model.py:1 inner".to_owned(),
            CallSiteKind::Freed,
        );
        assert_eq!(first(&pair(&[INNER])), freed);
        let allocated = ("run/model.py:1 inner".to_owned(), CallSiteKind::Allocated);
        assert_eq!(
            first(&pair(&[OUTER])),
            allocated,
            "recorded with context=alloc"
        );
    }
}
