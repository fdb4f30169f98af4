//! Every message survives the way there and back.

use super::*;
use proptest::prelude::*;

fn there_and_back<T>(message: &T)
where
    T: Serialize + for<'a> Deserialize<'a> + PartialEq + std::fmt::Debug,
{
    let text = to_text(message).unwrap();
    assert_eq!(&from_text::<T>(&text).unwrap(), message, "{text}");
}

fn draw() -> DrawRequest {
    let viewport = Viewport {
        x_min: 0.1,
        x_max: 1e6 / 3.0,
        y_min_bytes: 0.0,
        y_max_bytes: 3.3e10,
        width_px: 1_280,
        height_px: 720,
    };
    DrawRequest {
        look: Look {
            axis: Axis::Time,
            ..Look::default()
        },
        viewport,
    }
}

#[test]
fn requests() {
    let allocation = AllocationId(7);
    for request in [
        Request::WarmUp,
        Request::OpenBlob {
            name: "a \"b\".pickle".into(),
        },
        Request::OpenUrl {
            name: "ü".into(),
            url: "https://example.org/x?y=1#z".into(),
        },
        Request::Draw {
            request: 1,
            draw: draw(),
        },
        Request::Overview {
            device: 3,
            axis: Axis::Events,
            columns: 900,
        },
        Request::Hit {
            request: 9,
            draw: draw(),
            x_px: 12.25,
            y_px: 3.0,
        },
        Request::Outline {
            slot: OutlineSlot::Pin,
            draw: draw(),
            thing: Thing::Allocation(allocation),
        },
        Request::Details {
            device: 0,
            allocation,
        },
        Request::Legend {
            look: Look::default(),
            entries: 20,
        },
    ] {
        there_and_back(&request);
    }
}

#[test]
fn replies() {
    there_and_back(&Reply::Ready);
    there_and_back(&Reply::Progress(Progress {
        total_bytes: Some(u64::MAX),
        ..Progress::default()
    }));
    there_and_back(&Reply::Failed(Box::new(Failure {
        head: vec![0, 255],
        ..Failure::default()
    })));
    there_and_back(&Reply::Drawn(DrawnFrame {
        request: 4,
        draw: draw(),
        draw_ms: 0.25,
        events: 9,
        allocations: 4,
    }));
    there_and_back(&Reply::Outline(OutlineColumns {
        slot: OutlineSlot::Hover,
        draw: draw(),
        thing: Thing::Segment(0),
        points_px: vec![(0.0, 512.0), (1e9, 1e9 + 512.0)],
    }));
    let call_sites = vec![CallSite {
        frame: String::new(),
        allocations: 1,
        bytes: u64::MAX,
    }];
    let composition = Composition {
        call_sites,
        ..Composition::default()
    };
    there_and_back(&Reply::Hit(Box::new(Hit {
        request: 1,
        draw: draw(),
        at_px: (0.1 + 0.2, 7.0),
        moment: Some(MomentFacts {
            time_us: Some(i64::MIN),
            ..MomentFacts::default()
        }),
        on: HitOn::Several(composition),
    })));
}

#[test]
fn a_file_without_times_is_shown_by_events() {
    let events = Bounds::new(10.0, 1 << 30);
    let axes = Axes { events, time: None };
    assert_eq!(axes.bounds(Axis::Time), events);
    let time = Bounds::new(99.0, 1 << 30);
    assert_eq!(
        Axes {
            events,
            time: Some(time)
        }
        .bounds(Axis::Time),
        time
    );
}

proptest! {
    #[test]
    fn places_are_not_rounded_on_the_way(
        x_min in any::<f64>().prop_filter("a number", |x| x.is_finite()),
        y_max_bytes in 0.0_f64..1e20,
    ) {
        let mut draw = draw();
        draw.viewport.x_min = x_min;
        draw.viewport.y_max_bytes = y_max_bytes;
        there_and_back(&Request::Draw { request: 1, draw });
    }
}
