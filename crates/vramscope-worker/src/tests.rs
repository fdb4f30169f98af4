//! Every fixture is opened and asked everything, natively.

use std::path::{Path, PathBuf};

use vramscope_core::analysis::groups::live_at::live_at;
use vramscope_core::decode;
use vramscope_protocol::{
    Answer, Ask, Axis, ColourBy, DetailsOf, DrawRequest, EventOf, HitOf, HitOn, LegendOf, Look,
    MinimapOf, MomentAt, NoteLevel, OutlineOf, PreviewsOf, Reply, ThemeName, Thing, Viewport,
    from_bytes, to_bytes,
};

use super::describe;
use super::document::Document;
use super::opened;
use super::painter::Painter;
use super::views::{self, Caches};

const WIDTH_PX: u32 = 240;
const HEIGHT_PX: u32 = 100;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut entries: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found)
        } else {
            found.push(path)
        }
    }
}

/// Every committed snapshot, the refused ones included; without the hundreds of recordings of one kind that what is
/// concluded is judged by.
fn fixtures() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    files(&folder, &mut found);
    found.retain(|path| {
        !["causes", "roles"]
            .iter()
            .any(|of| path.starts_with(folder.join(of)))
    });
    assert!(!found.is_empty());
    found
}

/// The committed snapshots that can be read, with their paths.
pub(super) fn documents() -> impl Iterator<Item = (PathBuf, Document)> {
    fixtures().into_iter().filter_map(|path| {
        let snapshot = decode(std::fs::read(&path).unwrap().as_slice()).ok()?;
        Some((path, Document::new(snapshot)))
    })
}

fn draw(document: &Document, look: &Look) -> DrawRequest {
    let bounds = document.device(look.device).unwrap().bounds(look.axis);
    DrawRequest {
        look: look.clone(),
        viewport: Viewport::fit_all(&bounds, WIDTH_PX, HEIGHT_PX),
    }
}

/// The answer as the page gets it.
pub(super) fn ask<Q: Ask>(
    question: Q,
    document: &Document,
    painter: &mut Painter,
) -> Option<Q::Answer> {
    let (answer, _) = views::answer(&question.into(), document, painter, &mut Caches::default())?;
    let arrived: Answer = from_bytes(&to_bytes(&answer)).unwrap();
    assert_eq!(arrived, answer);
    Q::pick(answer)
}

#[test]
fn every_fixture_answers_every_question() {
    let mut opened_count = 0;
    for (path, document) in documents() {
        opened_count += 1;
        let facts = opened::opened(&document, "x", 1, 1.0);
        let peaks: Vec<_> = facts
            .devices
            .iter()
            .map(|device| device.peak_bytes)
            .collect();
        assert!(peaks.is_sorted_by(|a, b| a >= b), "{path:?}: {peaks:?}");
        let bytes = to_bytes(&Reply::Opened(Box::new(facts.clone())));
        assert_eq!(
            from_bytes::<Reply>(&bytes).unwrap(),
            Reply::Opened(Box::new(facts.clone()))
        );
        let mut painter = Painter::default();
        for device in &facts.devices {
            for axis in [Axis::Events, Axis::Time] {
                for colour_by in [ColourBy::CallSite, ColourBy::Stream, ColourBy::Born] {
                    let look = Look {
                        device: device.device,
                        axis,
                        colour_by,
                        theme: ThemeName::Dark,
                        ..Look::default()
                    };
                    ask_all(&document, &mut painter, &look, &path);
                }
            }
        }
    }
    assert!(
        opened_count > 10,
        "only {opened_count} fixtures could be read"
    );
}

fn ask_all(document: &Document, painter: &mut Painter, look: &Look, path: &Path) {
    let draw = draw(document, look);
    let device = look.device;
    let frame = painter.draw(document, &draw).unwrap();
    assert_eq!(frame.rgba.len(), (WIDTH_PX * HEIGHT_PX * 4) as usize);
    let is_empty = frame.rgba.iter().all(|&byte| byte == 0);
    let known = document.device(device).unwrap();
    assert_eq!(is_empty, known.peak_bytes() == 0, "{path:?} {look:?}");

    let question = MinimapOf {
        device,
        axis: look.axis,
        columns: 50,
    };
    let Some(minimap) = ask(question, document, painter) else {
        panic!("{path:?}")
    };
    assert_eq!(
        minimap.curves.active_bytes.iter().max(),
        Some(&known.peak_bytes()),
        "{path:?}"
    );
    let question = LegendOf {
        device,
        picture: look.picture,
        colour_by: look.colour_by,
        theme: look.theme,
        selection: None,
        entries: 5,
    };
    let Some(legend) = ask(question, document, painter) else {
        panic!("{path:?}")
    };
    assert_eq!(legend.is_empty(), known.peak_bytes() == 0, "{path:?}");
    let events = known.history.event_count;
    for moment in [0, 1, events / 2, events, events + 1] {
        let event = ask(EventOf { device, moment }, document, painter);
        let is_there = (1..=events).contains(&moment);
        assert_eq!(event.is_some(), is_there, "{path:?}: {moment} of {events}");
    }
    let mut moment_at = |x| {
        let asked = MomentAt {
            device,
            axis: Axis::Events,
            x,
            count: 0,
        };
        ask(asked, document, painter).unwrap()
    };
    let middle = events / 2;
    let moments = [-1.0, f64::from(middle) + 0.5, 1e12].map(&mut moment_at);
    assert_eq!(moments, [0, middle, events], "{path:?}");
    for x_px in (0..WIDTH_PX).step_by(60) {
        for y_px in (0..HEIGHT_PX).step_by(20) {
            hit(document, painter, &draw, (x_px, y_px), path);
        }
    }
}

/// What is under a pixel is the same whether or not the picture shown is the one last drawn.
fn hit(
    document: &Document,
    painter: &mut Painter,
    draw: &DrawRequest,
    (x_px, y_px): (u32, u32),
    path: &Path,
) {
    let question = HitOf {
        draw: draw.clone(),
        at_px: (f64::from(x_px) + 0.5, f64::from(y_px)),
    };
    let Some(hit) = ask(question, document, painter) else {
        panic!("{path:?}")
    };
    let device = draw.look.device;
    match &hit.on {
        HitOn::One(preview) => {
            let allocation = preview.allocation;
            let details = ask(DetailsOf { device, allocation }, document, painter);
            let Some(details) = details else {
                panic!("{path:?}")
            };
            let (known, brief) = (&details.known, &preview.brief);
            assert_eq!(known.name, brief.name);
            assert_eq!(known.requested_bytes, brief.requested_bytes);
            let (low, high) = details.place.edges_bytes;
            assert!(
                low <= high && details.place.moments.0 <= details.place.moments.1,
                "{path:?}: {details:?}"
            );
            let outline = OutlineOf {
                draw: draw.clone(),
                thing: Thing::Allocation(allocation),
            };
            let Some(outline) = ask(outline, document, painter) else {
                panic!("{path:?}")
            };
            assert!(outline.points_px.len() >= 4, "{path:?}: {outline:?}");
        }
        HitOn::Several(several) => {
            assert!(
                several.top.count > 0 && !several.top.sites.is_empty(),
                "{path:?}: {several:?}"
            );
            let allocations = several.largest.clone();
            assert_eq!(allocations.len() as u64, several.top.count.min(50));
            let question = PreviewsOf {
                device,
                allocations: allocations.clone(),
            };
            let previews = ask(question, document, painter).unwrap();
            let listed = previews.iter().map(|preview| preview.allocation);
            assert!(listed.eq(allocations), "{path:?}");
            let sizes = previews.iter().map(|preview| preview.brief.requested_bytes);
            assert!(sizes.is_sorted_by(|a, b| a >= b), "{path:?}");
        }
        HitOn::Nothing | HitOn::Segment(_) | HitOn::Free { .. } | HitOn::Unmapped { .. } => {}
    }
    if let Some(moment) = hit.moment {
        let device = document.device(device).unwrap();
        let live = live_at(device.history, moment.moment);
        let all = describe::composition(device, live, 3).top;
        assert_eq!(all.bytes, moment.active_bytes, "{path:?}");
        let listed: u64 = all.sites.iter().map(|site| site.count).sum();
        assert_eq!(listed + all.other_count, all.count, "{path:?}");
    }
}

#[test]
fn a_pixel_not_drawn_is_the_same_as_one_drawn() {
    let text = "training";
    let path = fixtures()
        .into_iter()
        .filter(|path| path.to_string_lossy().contains(text))
        .min();
    let path = path.unwrap_or_else(|| fixtures().swap_remove(0));
    let Ok(snapshot) = decode(std::fs::read(&path).unwrap().as_slice()) else {
        return;
    };
    let document = Document::new(snapshot);
    let look = Look {
        device: document.histories[0].device,
        ..Look::default()
    };
    let draw = draw(&document, &look);
    let (mut drawn, mut fresh) = (Painter::default(), Painter::default());
    drawn.draw(&document, &draw).unwrap();
    for x_px in (0..WIDTH_PX).step_by(7) {
        for y_px in (0..HEIGHT_PX).step_by(7) {
            let of = |painter: &mut Painter| painter.hit(&document, &draw, x_px, y_px);
            assert_eq!(of(&mut drawn), of(&mut fresh), "{path:?} at {x_px}, {y_px}");
        }
    }
}

#[test]
fn what_is_not_there_has_no_answer() {
    let document = Document::new(vramscope_core::Snapshot::default());
    let mut painter = Painter::default();
    let allocation = vramscope_core::ids::AllocationId(0);
    assert!(
        painter
            .hit(
                &document,
                &DrawRequest {
                    look: Look::default(),
                    viewport: EMPTY
                },
                0,
                0
            )
            .is_none()
    );
    let details = DetailsOf {
        device: 0,
        allocation,
    };
    assert_eq!(ask(details, &document, &mut painter), None);
    let minimap = MinimapOf {
        device: 9,
        axis: Axis::Time,
        columns: 0,
    };
    assert_eq!(ask(minimap, &document, &mut painter), None);
    let facts = opened::opened(&document, "empty", 0, 0.0);
    assert!(facts.devices.is_empty());
    assert_eq!(
        facts.notes.first().map(|note| note.level),
        Some(NoteLevel::Warning)
    );
}

#[test]
fn damage_is_noted_as_such() {
    let file = br#"{"segments": [], "news": 1, "device_traces": [[
        {"action": "alloc", "addr": 1, "size": -5, "stream": 0}]]}"#;
    let document = Document::new(vramscope_core::decode(&file[..]).unwrap());
    let facts = opened::opened(&document, "x", 0, 0.0);
    let of_level = |level| facts.notes.iter().filter(move |note| note.level == level);
    let damage: Vec<_> = of_level(NoteLevel::Damage).collect();
    assert_eq!(damage.len(), 1, "{:?}", facts.notes);
    assert_eq!(
        damage[0].text,
        "A size is negative, beyond 2^48 bytes or too large for its place; no sum contains it."
    );
    assert_eq!(damage[0].places, ["device_traces[0][0]"]);
    let mut remarks = of_level(NoteLevel::Warning);
    assert!(remarks.any(|note| note.text.contains("news at the top level")));
}

const EMPTY: Viewport = Viewport {
    x_min: 0.0,
    x_max: 1.0,
    y_min_bytes: 0.0,
    y_max_bytes: 1.0,
    width_px: 1,
    height_px: 1,
};

#[test]
fn refusals_have_words() {
    let error = decode(&b"PK not a zip at all"[..]).err().unwrap();
    let failure = opened::failure(&error);
    assert!(!failure.message.is_empty() && !failure.advice.is_empty());
    assert!(!failure.head.is_empty());
}
