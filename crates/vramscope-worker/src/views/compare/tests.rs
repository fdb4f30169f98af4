//! Every fixture is compared with itself and with another one.

use std::path::Path;

use vramscope_core::analysis::compare::side::Amount;
use vramscope_protocol::views::compare::{CurveAxis, SiteColumn, SiteRows};
use vramscope_protocol::{ThemeName, from_bytes, to_bytes};
use vramscope_view::change_flame::{ChangeUnit, FlameWidth};

use super::*;

fn open(name: &str) -> Document {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let bytes = std::fs::read(folder.join(name)).unwrap();
    Document::new(vramscope_core::decode(&bytes[..]).unwrap())
}

fn spec(document: &Document, selection: Selection) -> SideSpec {
    SideSpec {
        device: document.histories[0].device,
        selection,
        axis: CurveAxis::Time,
        columns: 50,
    }
}

fn ask(document: &Document, cache: &mut Cache, question: Question) -> Option<Answer> {
    let (answer, _) = answer(&question, document, cache)?;
    let bytes = to_bytes(&answer);
    let arrived: Answer = from_bytes(&bytes).unwrap();
    assert_eq!(to_bytes(&arrived), bytes);
    Some(answer)
}

fn compared_of(document: &Document, cache: &mut Cache, sides: (SideData, SideData)) -> Compared {
    let question = Question::Compare {
        before: sides.0,
        after: sides.1,
        naming: Naming::default(),
    };
    match ask(document, cache, question) {
        Some(Answer::Compared(compared)) => *compared,
        other => panic!("{other:?}"),
    }
}

fn rows(
    document: &Document,
    cache: &mut Cache,
    comparison: ComparisonId,
    by: SiteColumn,
) -> SiteRows {
    let question = Question::Sites {
        comparison,
        order: SiteOrder {
            by,
            reversed: false,
        },
        changed_only: false,
        first: 0,
        rows: 500,
        theme: ThemeName::Light,
    };
    match ask(document, cache, question) {
        Some(Answer::Sites(rows)) => rows,
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_moments_of_one_device_tell_what_is_new() {
    let document = open("synth/torch-2.10-py-p4.pickle");
    let mut cache = Cache::default();
    let history = &document.histories[0];
    let (from, to) = (history.event_count / 3, history.event_count);
    let side = |moment| SideData::Here(spec(&document, Selection::LiveAt(moment)));
    let found = compared_of(&document, &mut cache, (side(from), side(to)));
    assert_eq!(
        found.before.total.bytes,
        history.active_bytes[from as usize]
    );
    assert_eq!(found.after.total.bytes, history.active_bytes[to as usize]);
    let again = compared_of(&document, &mut cache, (side(from), side(to)));
    assert_eq!(again, found, "the one that is kept");
    let turned = compared_of(&document, &mut cache, (side(to), side(from)));
    assert_ne!(turned.id, found.id, "another question");
    let turnover = found.turnover.unwrap();
    assert_eq!(
        turnover.kept.bytes + turnover.new.bytes,
        found.after.total.bytes
    );

    let mut total = (Amount::default(), Amount::default(), Turnover::default());
    for row in &rows(&document, &mut cache, found.id, SiteColumn::New).rows {
        total.0.add(row.change.before);
        total.1.add(row.change.after);
        total.2.join(row.turnover.unwrap());
        assert!((-1.0..=1.0).contains(&row.bar));
    }
    assert_eq!(total, (found.before.total, found.after.total, turnover));

    let flame = |cache: &mut Cache, comparison, focus, width_px| {
        let question = Question::Flame {
            comparison,
            width: FlameWidth::Either,
            unit: ChangeUnit::Bytes,
            focus,
            width_px,
            theme: ThemeName::Dark,
        };
        match ask(&document, cache, question) {
            Some(Answer::Flame(flame)) => Some(flame),
            other => {
                assert_eq!(other, None);
                None
            }
        }
    };
    let all = flame(&mut cache, found.id, None, 1e9).unwrap();
    assert_eq!(all.scene.cells.len(), all.boxes.len());
    let root = all.boxes[0].change;
    assert_eq!((root.before, root.after), (total.0, total.1));
    let deepest = all.scene.cells.last().unwrap();
    let focused = flame(&mut cache, found.id, Some(deepest.key), 500.0).unwrap();
    let last = focused.scene.cells.last().unwrap();
    assert_eq!((last.key, last.width_px), (deepest.key, 500.0));
    assert!(focused.scene.cells[0].is_above);
    assert_eq!(
        flame(&mut cache, ComparisonId(99), None, 500.0),
        None,
        "no longer kept"
    );
}

#[test]
fn another_file_is_compared_by_its_profile() {
    let (one, two) = (
        open("synth/torch-2.10-py-p4.pickle"),
        open("synth/torch-2.15-py-p4.pickle"),
    );
    let mut caches = (Cache::default(), Cache::default());
    let side = spec(&two, Selection::LiveAt(two.histories[0].peak_moment));
    let question = Question::Profile {
        side,
        naming: Naming::default(),
    };
    let Some(Answer::Profile(profile)) = ask(&two, &mut caches.1, question) else {
        panic!("a profile");
    };
    let here = SideData::Here(spec(&one, Selection::All));
    let found = compared_of(
        &one,
        &mut caches.0,
        (here.clone(), SideData::Given(profile)),
    );
    assert_eq!(found.turnover, None);
    assert_eq!(
        found.after.total.bytes,
        found.after.figures.peak_active_bytes
    );
    assert_eq!(
        found.before.total.count,
        one.histories[0].allocations.len() as u64
    );
    let same = compared_of(&one, &mut caches.0, (here.clone(), here));
    assert_eq!((same.changed_sites, same.settings.len()), (0, 0));
    let all = rows(&one, &mut caches.0, same.id, SiteColumn::Name);
    assert_eq!(all.of, same.sites);
    assert!(all.rows.iter().all(|row| row.bar == 0.0));
    assert!(all.rows.iter().map(|row| &row.label).is_sorted());
    let none = Question::Moments { device: 77 };
    assert_eq!(ask(&one, &mut caches.0, none), None, "no such device");
}
