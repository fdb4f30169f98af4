//! The page driven without a browser.

mod addresses;
mod files;
mod keys;
mod linked;
mod live;
mod navigation;
mod pointing;

use std::rc::Rc;

use vramscope_protocol::{
    AllocationExtent, Axes, Axis, Bounds, Details, DeviceFacts, DrawRequest, Failure, FileFacts,
    Hit, HitOn, Look, Note, NoteLevel, Opened, Preview, Progress, RangeFacts,
};
use yew::Reducible;

use super::keys::{Command, Press, command};
use super::motion::Motion;
use super::permalink::once_shown;
use super::*;
use vramscope_core::analysis::report::details::{
    AllocationBrief, AllocationDetails, EventMark, Life,
};
use vramscope_core::analysis::roles::{Confidence, Role, RoleFinding};
use vramscope_core::ids::EventId;

const EVENTS: f64 = 1_000.0;
const PEAK: u64 = 8 << 30;

/// A page, changed one action at a time.
struct Page(Rc<State>);

impl Page {
    /// With one file that has two devices, the second without times.
    fn with_file() -> Self {
        let mut page = Self(Rc::new(State::default()));
        page.open(1, "a.pickle");
        page.reply(1, Reply::Opened(Box::new(opened())));
        page
    }

    /// Begins to open a file that the user chose.
    fn open(&mut self, id: u32, name: &str) {
        self.open_linked(id, name, None);
    }

    /// Begins to open a file that the page's address names, if there is a host.
    fn open_linked(&mut self, id: u32, name: &str, host: Option<&str>) {
        self.act(Action::Open {
            id: SessionId(id),
            name: name.to_owned(),
            linked_host: host.map(str::to_owned),
            served: None,
        });
    }

    fn act(&mut self, action: Action) {
        self.0 = self.0.clone().reduce(action);
    }

    fn reply(&mut self, id: u32, reply: Reply) {
        self.act(Action::Reply(SessionId(id), Shared::new(reply)));
    }

    fn answer(&mut self, answer: Answer) {
        self.act(Action::Answer(SessionId(1), Shared::new(answer)));
    }

    fn go(&mut self, navigation: Navigation) {
        self.act(Action::Navigate(navigation));
    }

    fn file(&self) -> &OpenFile {
        self.0.file().unwrap()
    }

    fn view(&self) -> &DeviceView {
        self.file().view().unwrap()
    }

    fn x(&self) -> (f64, f64) {
        (self.view().region.x_min, self.view().region.x_max)
    }

    fn key(&mut self, key: &str) -> Option<Command> {
        let pressed = command(
            &Press {
                key: key.into(),
                ..Press::default()
            },
            &self.0,
        );
        if let Some(Command::Act(action)) = &pressed {
            self.act(action.clone());
        }
        pressed
    }
}

#[test]
fn reserved_memory_without_segments_is_unknown() {
    let mut facts = opened().devices[0].clone();
    let said = |facts: &DeviceFacts| {
        let rows = sentences::device_rows(facts).into_iter();
        let mut values = rows.filter(|(name, _)| *name == "Peak reserved");
        values.next().map(|(_, value)| value).unwrap()
    };
    assert_eq!(said(&facts), "unknown");
    facts.most_reserved_bytes = Some(3 << 20);
    assert_eq!(said(&facts), "3.00 MiB");
    facts.most_reserved_bytes = Some(0);
    assert_eq!(said(&facts), "0 B");
}

fn opened() -> Opened {
    let note = |text: &str| Note {
        level: NoteLevel::Warning,
        text: text.into(),
        advice: String::new(),
        places: Vec::new(),
        moment: None,
    };
    let device = |device, times: Option<f64>| DeviceFacts {
        lines: vramscope_view::line_facts::LineFacts::default(),
        device,
        name: format!("GPU {device}"),
        events: 999,
        has_trace: true,
        allocations: 50,
        peak_bytes: PEAK,
        peak_moment: 600,
        final_bytes: 0,
        peak_reserved_bytes: 0,
        most_reserved_bytes: None,
        time_span_us: None,
        axes: Axes {
            events: Bounds::new(EVENTS, PEAK),
            time: times.map(|end| Bounds::new(end, PEAK)),
        },
        map_bytes: 0,
        packing_bytes: 0,
        ooms: Some(0),
        colour_by: ColourBy::CallSite,
        segments_colour_by: ColourBy::Size,
        notes: vec![note("of the device")],
    };
    Opened {
        file: FileFacts {
            name: "a.pickle".into(),
            file_bytes: 1,
            decoded_bytes: 1,
            format: String::new(),
            producer: String::new(),
            events: 999,
            stacks: 1,
            model_bytes: 1,
            worker_bytes: 1,
            read_ms: 1.0,
            recorded: None,
        },
        devices: vec![device(3, Some(5e6)), device(0, None)],
        leaders: vramscope_view::colour::Leaders::default(),
        notes: vec![note("of the file")],
    }
}

/// Where the pointer is in these tests, device px.
const AT_PX: (f64, f64) = (30.0, 20.0);

impl Page {
    /// What the worker answers about a place of what is shown now.
    fn hit_at(&self, at_px: (f64, f64), on: HitOn) -> Answer {
        Answer::Hit(Box::new(Hit {
            draw: DrawRequest {
                look: Look {
                    device: self.file().facts().unwrap().device,
                    axis: self.file().axis,
                    ..Look::default()
                },
                viewport: self.view().region.resized(640, 480),
            },
            at_px,
            moment: None,
            on,
        }))
    }

    fn hit(&self, on: HitOn) -> Answer {
        self.hit_at(AT_PX, on)
    }

    fn hover(&mut self, on: HitOn) {
        let answer = self.hit(on);
        self.answer(answer);
    }

    fn click(&mut self) {
        self.act(Action::Click(Picture::Timeline, AT_PX));
    }

    fn pinned(&self) -> Option<u32> {
        self.view().pinned().map(|allocation| allocation.0)
    }
}

fn one(allocation: u32) -> HitOn {
    HitOn::One(Box::new(Preview {
        allocation: AllocationId(allocation),
        brief: AllocationBrief {
            requested_bytes: 512,
            ..AllocationBrief::default()
        },
        user_frame: String::new(),
        remarks: String::new(),
    }))
}

fn details(allocation: u32) -> Answer {
    let mark = |moment: u32| {
        Some(EventMark {
            number: moment - 1,
            event: EventId(moment - 1),
            time_us: None,
            since_start_us: Some(i64::from(moment) * 10),
        })
    };
    Answer::Details(Box::new(Details {
        known: AllocationDetails {
            site: String::new(),
            operator: String::new(),
            device: 3,
            allocation: AllocationId(allocation),
            life: Life {
                alloc: mark(100),
                free_requested: mark(300),
                free_completed: mark(301),
                ..Life::default()
            },
            name: "b7_0".into(),
            address: 7,
            requested_bytes: 512,
            block: None,
            block_bytes_at_least: 512,
            stream: None,
            stream_index: None,
            pool: None,
            category: None,
            role: RoleFinding {
                role: Role::Unknown,
                confidence: Confidence::Guess,
                because: String::new(),
            },
            user_metadata: None,
            compile_context: None,
            internal_metadata: None,
            annotations: Vec::new(),
            ranges: Vec::new(),
            stack: Vec::new(),
            frames_left_out: 0,
            stack_source: None,
            forward_frames: Vec::new(),
            active_bytes_after: 512,
        },
        place: AllocationExtent {
            moments: (100, 301),
            time_us: None,
            edges_bytes: (1e9, 2e9),
            map_bytes: (3e9, 4e9),
        },
        properties: Vec::new(),
        free_stack: None,
    }))
}
