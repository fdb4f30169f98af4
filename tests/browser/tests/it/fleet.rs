//! Ranks of a job: an overview opens as a heat map with tables, and a click opens the snapshot of a rank.

use std::fs;
use std::path::{Path, PathBuf};

use vramscope_browser_tests::Modifiers;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::fleet::{Detail, Fleet, Place, Source, encode};

use crate::PATIENCE;
use crate::open::{Open, fixture, open};

/// The snapshot of every rank.
const SNAPSHOT: &str = "torch-2.8.0/training.pickle";

/// The rank whose peak differs from the others'.
const ODD: u32 = 5;

/// An overview of ranks, written into a folder. Returns its path, and the moment of all peaks.
pub(crate) fn overview(folder: &Path, ranks: u32) -> (PathBuf, u32) {
    let bytes = fs::read(fixture(SNAPSHOT)).unwrap();
    let recording = Recording::of(vramscope_core::decode(&bytes[..]).unwrap());
    let of = |rank: u32| {
        let place = Place {
            rank,
            host: format!("node{}", rank / 4),
            ..Place::default()
        };
        let source = Source {
            path: format!("dumps/rank{rank}.pickle"),
            bytes: bytes.len() as u64,
            modified_us: None,
        };
        let mut fleet = Fleet::of(&place, &source, recording.devices(), Detail::All);
        if rank == ODD {
            fleet.ranks[0].peak_bytes *= 2;
        }
        fleet
    };
    let fleet = Fleet::of_all((0..ranks).map(of));
    let file = folder.join("overview.vset");
    fs::write(&file, encode(&fleet)).unwrap();
    (file, fleet.ranks[0].peak_moment)
}

fn wait(open: &mut Open, condition: &str) {
    open.page.wait_for(condition, PATIENCE).unwrap();
}

/// Waits until the table shows these ranks, from the first row on.
fn wait_for_ranks(open: &mut Open, numbers: &[u32]) {
    let rows = "[...document.querySelectorAll('.vrow .rank-row > :first-child')].map(cell => Number(cell.innerText)).join()";
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    wait(open, &format!("{rows} === '{}'", numbers.join(",")));
}

#[test]
fn a_dropped_overview_is_sorted_searched_and_opens_a_rank() {
    let folder = tempfile::tempdir().unwrap();
    let (_, peak_moment) = overview(folder.path(), 8);
    let snapshot = folder.path().join(format!("rank{ODD}.pickle"));
    fs::copy(fixture(SNAPSHOT), &snapshot).unwrap();
    let mut open = open("");
    // In a folder with an overview, only the overview is opened.
    open.page
        .drop_files(640.0, 360.0, &[folder.path().to_owned()])
        .unwrap();
    assert_eq!(open.painted().detail["view"], "fleet");
    wait_for_ranks(&mut open, &[0, 1, 2, 3, 4, 5, 6, 7]);

    open.page
        .click_on("[aria-label='Order of ranks'] label:nth-child(2)")
        .unwrap();
    wait_for_ranks(&mut open, &[5, 0, 1, 2, 3, 4, 6, 7]);
    wait(&mut open, "location.hash.includes('fleet.order=peak')");
    open.page.key("/", Modifiers::NONE).unwrap();
    open.page.type_text("node1 odd").unwrap();
    wait_for_ranks(&mut open, &[ODD]);
    wait(
        &mut open,
        "document.querySelector('.rank-row:not(.head) > :nth-child(6)').innerText.includes('peak')",
    );
    open.page.key("Enter", Modifiers::NONE).unwrap();
    wait(
        &mut open,
        &format!("location.hash.includes('fleet.rank={ODD}')"),
    );

    // A page without a server cannot reach the snapshot, and gives advice.
    open.page.click_on(".vrow .rank-row").unwrap();
    wait(
        &mut open,
        "document.querySelector('.fleet-missing')?.innerText.includes('rank5.pickle')",
    );
    open.page.drop_files(640.0, 360.0, &[snapshot]).unwrap();
    wait(&mut open, "document.querySelector('.rail')");
    wait(
        &mut open,
        &format!(
            "location.hash.includes('file=rank5.pickle') && location.hash.includes('at={peak_moment}&')"
        ),
    );
    // Back at the ranks, nothing is missing any more.
    open.page.key("<", Modifiers::NONE).unwrap();
    wait(
        &mut open,
        "document.querySelector('.view.fleet') && !document.querySelector('.fleet-missing')",
    );
    open.check_quiet();
}
