//! Numbers survive the journey. What each view sends is tested with its answers.

use super::*;
use crate::views::filter::FilterText;
use proptest::prelude::*;

fn there_and_back<T>(message: &T)
where
    T: Serialize + for<'a> Deserialize<'a> + PartialEq + std::fmt::Debug,
{
    assert_eq!(&from_bytes::<T>(&to_bytes(message)).unwrap(), message);
}

fn hit_at(viewport: Viewport) -> Request {
    let look = Look {
        filter: FilterText::of("live@cursor \"ü\"", Some(7), None),
        ..Look::default()
    };
    let question = HitOf {
        draw: DrawRequest { look, viewport },
        at_px: (0.1 + 0.2, 7.0),
    };
    Request::Ask {
        request: 9,
        slot: 3,
        within: Some("pool:0,2".to_owned()),
        question: Box::new(question.into()),
    }
}

#[test]
fn a_file_without_times_is_shown_by_events() {
    let events = Bounds::new(10.0, 1 << 30);
    let axes = Axes { events, time: None };
    assert_eq!(axes.bounds(Axis::Time), events);
}

proptest! {
    #[test]
    fn places_are_not_rounded_on_the_way(
        x_min in any::<f64>().prop_filter("a number", |x| x.is_finite()),
        y_max_bytes in 0.0_f64..1e20,
    ) {
        let viewport = Viewport {
            x_min,
            x_max: 1e6 / 3.0,
            y_min_bytes: 0.0,
            y_max_bytes,
            width_px: 1_280,
            height_px: 720,
        };
        there_and_back(&hit_at(viewport));
    }
}
