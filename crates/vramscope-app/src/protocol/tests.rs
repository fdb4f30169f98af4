//! Every message survives the way there and back.

use super::*;
use crate::protocol::views::filter::FilterText;
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
            filter: FilterText::of("live@cursor \"ü\"", Some(7), None),
            ..Look::default()
        },
        viewport,
    }
}

fn ask(question: impl Into<Question>) -> Request {
    Request::Ask {
        request: 9,
        slot: 3,
        question: Box::new(question.into()),
    }
}

#[test]
fn requests() {
    there_and_back(&Request::OpenBlob {
        name: "a \"b\".pickle".into(),
    });
    there_and_back(&Request::OpenUrl {
        name: "ü".into(),
        url: "https://example.org/x?y=1#z".into(),
    });
    there_and_back(&ask(HitOf {
        draw: draw(),
        at_px: (12.25, 3.0),
    }));
}

#[test]
fn replies() {
    there_and_back(&Reply::Progress(Progress {
        total_bytes: Some(u64::MAX),
        ..Progress::default()
    }));
    there_and_back(&Reply::Failed(Box::new(Failure {
        head: vec![0, 255],
        ..Failure::default()
    })));
    there_and_back(&OutlineOf::wrap(OutlineColumns {
        draw: draw(),
        thing: Thing::Segment(0),
        points_px: vec![(0.0, 512.0), (1e9, 1e9 + 512.0)],
    }));
    there_and_back(&HitOf::wrap(Hit {
        draw: draw(),
        at_px: (0.1 + 0.2, 7.0),
        moment: Some(MomentFacts {
            time_us: Some(i64::MIN),
            ..MomentFacts::default()
        }),
        on: HitOn::Several(Composition {
            bytes: u64::MAX,
            ..Composition::default()
        }),
    }));
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
        there_and_back(&ask(draw));
    }
}
