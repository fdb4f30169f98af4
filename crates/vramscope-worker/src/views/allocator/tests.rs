//! Every question about a recording with streams and pending frees, natively.

use vramscope_protocol::views::allocator::{Direction, TipOn, Window};
use vramscope_protocol::{Look, from_bytes, to_bytes};

use super::*;

const FILE: &[u8] =
    include_bytes!("../../../../../tests/fixtures/torch-2.15.0/streams_pending.pickle");

struct Asked {
    document: Document,
    painter: Painter,
    cache: Cache,
}

impl Asked {
    fn new() -> Self {
        Self::of(FILE)
    }

    fn of(file: &[u8]) -> Self {
        Self {
            document: Document::new(vramscope_core::decode(file).unwrap()),
            painter: Painter::default(),
            cache: Cache::default(),
        }
    }

    fn ask(&mut self, question: &Question) -> (Answer, Extra) {
        let (answer, extra) =
            answer(question, &self.document, &mut self.painter, &mut self.cache).unwrap();
        let arrived: Answer = from_bytes(&to_bytes(&answer)).unwrap();
        assert_eq!(arrived, answer);
        (answer, extra)
    }

    fn moment(&mut self, question: &Question) -> Option<u32> {
        match self.ask(question).0 {
            Answer::Moment(moment) => moment,
            other => panic!("{other:?}"),
        }
    }
}

fn draw(moment: u32) -> DrawState {
    DrawState {
        look: Look::default(),
        moment,
        window: Window {
            width_px: 600,
            height_px: 400,
            pixel_ratio: 2.0,
            zoom: 1.0,
            top_px: 0,
        },
        pinned: Some(AllocationId(0)),
    }
}

#[test]
fn a_picture_with_its_sums() {
    let mut asked = Asked::new();
    // The stepper goes forwards and backwards, by one event and by many.
    for moment in [0, 1, 14, 13, 23, 15, 9_999] {
        let (answer, extra) = asked.ask(&Question::Draw(draw(moment)));
        let Answer::Drawn(drawn) = answer else {
            panic!("{answer:?}");
        };
        let device = asked.document.device(0).unwrap();
        assert_eq!(drawn.moment, moment.min(device.history.event_count));
        let state = device.state_at(moment);
        assert_eq!(drawn.total, state.total, "moment {moment}");
        assert_eq!(drawn.groups.len(), state.groups.len());
        assert!(drawn.check.is_equal());
        assert!(drawn.height_css <= 200.0, "it fits at every moment");
        let Extra::Pixels { rgba, .. } = extra else {
            panic!("no picture");
        };
        assert_eq!(rgba.len(), 600 * 400 * 4);
        let is_drawn = rgba.chunks_exact(4).any(|pixel| pixel[3] > 0);
        assert_eq!(is_drawn, drawn.total.reserved_bytes > 0, "moment {moment}");
    }
}

#[test]
fn what_is_under_the_pointer() {
    let mut asked = Asked::new();
    let mut hit = |y_px: f64| {
        let question = Question::Hit {
            draw: draw(14),
            at_px: (4.0, y_px),
        };
        match asked.ask(&question).0 {
            Answer::Tip(tip) => tip,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(hit(10.0), None, "a heading");
    let tip = hit(70.0).unwrap();
    assert!(matches!(tip.on, TipOn::Block { .. }), "{tip:?}");
    assert_eq!(tip.rects.len(), 1);
    assert_eq!(tip.segment.mapped_by, Some(9), "of the default stream");
}

#[test]
fn what_is_free_in_the_pool_of_a_graph_is_not_idle() {
    let file: &[u8] =
        include_bytes!("../../../../../tests/fixtures/torch-2.15.0/cuda_graph.pickle");
    let mut asked = Asked::of(file);
    let end = asked.document.device(0).unwrap().history.event_count;
    let mut tips = Vec::new();
    let places = (0..=end).flat_map(|moment| (0..40).map(move |row| (moment, row)));
    for (moment, row) in places {
        let question = Question::Hit {
            draw: draw(moment),
            at_px: (4.0, f64::from(row) * 10.0),
        };
        if let Answer::Tip(Some(tip)) = asked.ask(&question).0 {
            let is_of_graph = tip.segment.remarks.iter().any(|it| it.contains("graph"));
            let is_kept = is_of_graph && tip.segment.sums.free_bytes > 0;
            assert_eq!(tip.segment.kept_for.is_some(), is_kept, "{tip:?}");
            tips.push(is_kept);
        }
    }
    assert!(tips.contains(&true) && tips.contains(&false));
}

#[test]
fn rows_and_ways_between_them() {
    let mut asked = Asked::new();
    let rows = |first, count| Question::Events {
        device: 0,
        filter: None,
        first,
        count,
    };
    for (first, count, numbers) in [(0, 3, vec![0, 1]), (5, 2, vec![4, 5]), (23, 9, vec![22])] {
        let Answer::Events(lines) = asked.ask(&rows(first, count)).0 else {
            panic!();
        };
        let told: Vec<_> = lines.iter().map(|line| line.event.number).collect();
        assert_eq!(told, numbers);
    }
    let mut jump = |from, direction, to| {
        asked.moment(&Question::Jump {
            device: 0,
            filter: None,
            from,
            direction,
            to,
            count: 0,
        })
    };
    assert_eq!(jump(1, Direction::Forward, JumpTo::Segments), Some(3));
    assert_eq!(jump(3, Direction::Back, JumpTo::Segments), Some(1));
    assert_eq!(jump(0, Direction::Forward, JumpTo::Oom), None);
    assert_eq!(
        jump(0, Direction::Forward, JumpTo::Match),
        None,
        "no search"
    );
}
