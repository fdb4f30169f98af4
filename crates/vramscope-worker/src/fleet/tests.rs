//! Answers about a fleet of a few ranks.

use vramscope_core::analysis::groups::turnover::Amount;
use vramscope_core::fleet::{
    Curve, Failure, Fleet, Place as Job, Rank, Site, Source, encode, questions,
};
use vramscope_protocol::Extra;
use vramscope_protocol::ThemeName;
use vramscope_protocol::views::fleet::{
    Along, Answer, Drawing, Look, MarkKind, Measure, Memory, Order, Place, Question, Shown,
};

use super::Ranks;

const SECOND: i64 = 1_000_000;
const MIB: u64 = 1 << 20;

fn rank(number: u32, peak_mib: u64) -> Rank {
    let start = 1_700_000_000 * SECOND;
    Rank {
        place: Job {
            rank: number,
            host: format!("node{}", number / 4),
            ..Job::default()
        },
        source: Source {
            path: format!("dumps/rank{number}.pickle"),
            bytes: 1_000 + u64::from(number),
            modified_us: None,
        },
        peak_bytes: peak_mib * MIB,
        peak_moment: 40 + number,
        peak_time_us: Some(start + 2 * SECOND),
        peak_reserved_bytes: (peak_mib + 100) * MIB,
        events: 100,
        curve: Curve {
            unit_bytes: MIB,
            start_us: Some(start),
            length: 4 * SECOND as u64,
            lowest: vec![0; 4],
            highest: vec![1, 10, peak_mib as u16, 3],
            reserved: vec![200; 4],
            steps: Vec::new(),
        },
        sites: vec![
            Site {
                site: 0,
                peak: Amount {
                    bytes: 300 * MIB,
                    ..Amount::default()
                },
                ..Site::default()
            },
            Site {
                site: 1,
                peak: Amount {
                    bytes: (peak_mib - 300) * MIB,
                    ..Amount::default()
                },
                ..Site::default()
            },
        ],
        ..Rank::default()
    }
}

/// Eight ranks on two hosts: 5 has the highest peak, and 2 ran out of memory.
fn fleet() -> Fleet {
    let mut ranks: Vec<Rank> = (0..8)
        .map(|number| {
            rank(
                number,
                if number == 5 {
                    900
                } else {
                    600 + u64::from(number)
                },
            )
        })
        .collect();
    ranks[2].ooms = 1;
    ranks[2].failures = vec![Failure {
        moment: 77,
        time_us: Some(1_700_000_003 * SECOND),
        ..Failure::default()
    }];
    Fleet {
        labels: vec![
            "attention.py:7 forward".to_owned(),
            "mlp.py:9 forward".to_owned(),
        ],
        settings: vec![Default::default()],
        ranks,
        unreadable: Vec::new(),
    }
}

fn ranks() -> Ranks {
    Ranks::read(&encode(&fleet())).unwrap()
}

fn ask(ranks: &mut Ranks, question: &Question) -> Option<(Answer, Extra)> {
    ranks.answer(question)
}

fn shown(order: Order, search: &str) -> Shown {
    Shown {
        order,
        search: search.to_owned(),
    }
}

/// The numbers of the ranks that are shown.
fn numbers(ranks: &mut Ranks, order: Order, search: &str) -> Vec<u32> {
    let question = Question::Ranks {
        shown: shown(order, search),
        first: 0,
        count: 100,
        locate: None,
    };
    let Some((Answer::Ranks(found), _)) = ask(ranks, &question) else {
        panic!("no ranks");
    };
    assert_eq!(found.all as usize, found.rows.len());
    found.rows.iter().map(|row| row.number).collect()
}

#[test]
fn ranks_are_ordered_by_what_the_user_chose() {
    let mut ranks = ranks();
    assert_eq!(
        numbers(&mut ranks, Order::Rank, ""),
        [0, 1, 2, 3, 4, 5, 6, 7]
    );
    assert_eq!(
        numbers(&mut ranks, Order::Peak, ""),
        [5, 7, 6, 4, 3, 2, 1, 0]
    );
    // A failed request where the others have none is beyond all numbers.
    assert_eq!(numbers(&mut ranks, Order::Odd, "")[..3], [2, 5, 0]);
}

#[test]
fn a_search_is_about_ranks_or_call_sites() {
    let mut ranks = ranks();
    let mut found = |search| numbers(&mut ranks, Order::Rank, search);
    assert_eq!(found("3"), [3]);
    assert_eq!(found("2-4"), [2, 3, 4]);
    assert_eq!(found("NODE1"), [4, 5, 6, 7]);
    assert_eq!(found("rank6.pickle"), [6]);
    assert_eq!(found("oom"), [2]);
    assert_eq!(found("odd node1"), [5]);
    assert_eq!(found("mlp.py"), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(found("nothing").is_empty());
    let question = |search: &str| Question::Sites {
        shown: shown(Order::Rank, search),
        first: 0,
        count: 100,
    };
    let mut sites = |search: &str| match ask(&mut ranks, &question(search)) {
        Some((Answer::Sites(sites), _)) => sites.rows,
        other => panic!("{other:?}"),
    };
    let all = sites("");
    assert_eq!(all.len(), 2);
    assert_eq!(all[0].label, "mlp.py:9 forward");
    assert_eq!((all[0].most_at, all[0].usual.highest), (5, 600 * MIB));
    assert_eq!(all[0].odd, [5]);
    assert_eq!(sites("attention").len(), 1);
    // Over the ranks that are shown only, which are named as in the file.
    let of_host = sites("node1 mlp");
    assert_eq!(
        (of_host.len(), of_host[0].most_at, of_host[0].ranks),
        (1, 5, 4)
    );
}

#[test]
fn what_is_odd_is_told_with_its_measure() {
    let mut ranks = ranks();
    let question = Question::Ranks {
        shown: shown(Order::Odd, ""),
        first: 0,
        count: 2,
        locate: Some(6),
    };
    let Some((Answer::Ranks(found), _)) = ask(&mut ranks, &question) else {
        panic!("no ranks");
    };
    let odd = &found.rows[1].odd;
    assert!(
        odd.iter()
            .any(|odd| odd.measure == Measure::Peak && odd.value == 900 * MIB)
    );
    let (row, located) = found.located.unwrap();
    assert_eq!((located.number, row > 0), (6, true));
}

fn drawing() -> Drawing {
    Drawing {
        shown: shown(Order::Rank, ""),
        look: Look {
            memory: Memory::Active,
            along: Along::Clock,
        },
        size_px: (80, 16),
        pixel_ratio: 1.0,
        theme: ThemeName::Light,
    }
}

#[test]
fn a_picture_comes_with_its_pixels_and_tells_what_is_where() {
    let mut ranks = ranks();
    let Some((Answer::Drawn(drawn), Extra::Pixels { rgba, .. })) =
        ask(&mut ranks, &Question::Draw(drawing()))
    else {
        panic!("no picture");
    };
    assert_eq!(rgba.len(), 80 * 16 * 4);
    assert_eq!((drawn.highest_bytes, drawn.frame.rows), (900 * MIB, 8));
    assert_eq!(drawn.start_us, Some(1_700_000_000 * SECOND));
    let mut at = |x, y| {
        let (drawing, at_px) = (drawing(), (x, y));
        match ask(&mut ranks, &Question::At { drawing, at_px }) {
            Some((Answer::At(at), _)) => Some(at),
            _ => None,
        }
    };
    let peak = at(50, 11).unwrap();
    assert_eq!(
        (peak.rank.number, peak.bytes, peak.mark),
        (5, Some(900 * MIB), None)
    );
    let oom = at(60, 5).unwrap();
    assert_eq!(
        (oom.mark, oom.place.moment),
        (Some(MarkKind::Oom), Some(77))
    );
    assert_eq!(at(80, 0), None);
}

#[test]
fn a_rank_opens_at_a_moment_beside_the_median() {
    let mut ranks = ranks();
    let mut ways = |rank, at| {
        let shown = shown(Order::Peak, "");
        match ask(&mut ranks, &Question::Ways { shown, rank, at }) {
            Some((Answer::Ways(ways), _)) => Some(ways),
            _ => None,
        }
    };
    let at_peak = ways(5, None).unwrap();
    assert_eq!((at_peak.rank.moment, at_peak.rank.range), (45, None));
    assert_eq!(
        (at_peak.rank.name.as_str(), at_peak.rank.file_bytes),
        ("rank5.pickle", 1_005)
    );
    assert_eq!(at_peak.median.unwrap().number, 3);
    let look = drawing().look;
    let marked = Place {
        at: 3_000_000,
        moment: Some(77),
    };
    let at_oom = ways(2, Some((look, marked))).unwrap().rank;
    assert_eq!((at_oom.moment, at_oom.range), (77, None));
    let free = Place {
        moment: None,
        ..marked
    };
    let between = ways(2, Some((look, free))).unwrap().rank;
    assert_eq!(between.range, Some((3e6, 4e6)));
    // Of the median itself there is no other.
    assert_eq!(ways(3, None).unwrap().median, None);
    assert_eq!(ways(8, None), None);
}

/// Of equal peaks, too, whatever the order in which ranks are shown.
#[test]
fn the_median_is_that_of_the_command_line() {
    let mut alike = fleet();
    for rank in &mut alike.ranks {
        rank.peak_bytes = 600 * MIB;
    }
    let told = questions::peaks(&alike).unwrap().median as u32;
    let mut ranks = Ranks::read(&encode(&alike)).unwrap();
    for order in [Order::Rank, Order::Peak, Order::Odd] {
        let question = Question::Ways {
            shown: shown(order, ""),
            rank: 0,
            at: None,
        };
        let Some((Answer::Ways(ways), _)) = ask(&mut ranks, &question) else {
            panic!("no ways");
        };
        assert_eq!(ways.median.unwrap().number, told);
    }
}

#[test]
fn a_damaged_overview_says_what_to_do() {
    let bytes = encode(&fleet());
    let failure = Ranks::read(&bytes[..bytes.len() / 2]).err().unwrap();
    assert!(
        failure.advice.contains("vramscope fleet pack"),
        "{failure:?}"
    );
    assert!(failure.format.contains(".vset"), "{failure:?}");
    let mut newer = bytes;
    newer[8] = 99;
    let failure = Ranks::read(&newer).err().unwrap();
    assert_eq!(failure.advice, "Open it with a newer vramscope.");
}
