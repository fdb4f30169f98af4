//! The what-if view: bars with core's bytes, the packing beside the map, and a replay with other settings.

use std::fs::File;
use std::time::{Duration, Instant};

use vramscope_browser_tests::Modifiers;
use vramscope_core::analysis::recording::{Device, Recording};
use vramscope_core::decode;
use vramscope_plan::allocator_model::{ModelSettings, Start, replay};
use vramscope_plan::{DevicePlan, Planner};
use vramscope_view::display;

use crate::PATIENCE;
use crate::open::{Open, fixture, open_fixture};

const FIXTURE: &str = "synth/scenario-pools.pickle";

/// Core's results for the fixture.
fn planned<T>(of: impl FnOnce(Device<'_>, &DevicePlan) -> T) -> T {
    let recording = Recording::of(decode(File::open(fixture(FIXTURE)).unwrap()).unwrap());
    let device = recording.device(0).unwrap();
    let mut planner = Planner::new(device);
    while !planner.run(device, &mut || false) {}
    of(device, planner.plan())
}

/// The view on its details, once they are computed.
fn open_what_if() -> Open {
    let mut open = open_fixture(FIXTURE);
    open.page.key("9", Modifiers::NONE).unwrap();
    choose_panel(&mut open, "details");
    open.page
        .wait_for(
            "!!document.querySelector('.what-if[data-stage=done]')",
            PATIENCE,
        )
        .unwrap();
    open
}

fn choose_panel(open: &mut Open, name: &str) {
    let panel = format!(
        "[...document.querySelectorAll('.what-if .panel-bar label')].find(label => label.innerText.includes('{name}'))"
    );
    open.page.wait_for(&format!("!!{panel}"), PATIENCE).unwrap();
    open.page.eval(&format!("{panel}.click()")).unwrap();
}

/// The view opens on changes of the program. The recorded run does not fit into 720 MiB, half the batch does.
#[test]
fn another_program_may_fit_into_less() {
    let mut open = open_fixture("roles/rules/gpt_bf16_late.pickle.zst");
    open.page.key("9", Modifiers::NONE).unwrap();
    let type_size = |open: &mut Open, size: &str| {
        let typed = format!(
            "(() => {{ const field = document.querySelector('.program input'); field.value = '{size}'; \
             field.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
        );
        open.page.eval(&typed).unwrap();
    };
    let smallest =
        "document.querySelector('.program tbody tr')?.cells[3].innerText === 'RTX 3060 12 GB'";
    open.page.wait_for(smallest, PATIENCE).unwrap();
    // A card's advertised memory is not what it has.
    type_size(&mut open, "24GB");
    let asks = "(document.querySelector('.program .refusal')?.innerText ?? '').includes('23.52GiB (RTX 4090)')";
    open.page.wait_for(asks, PATIENCE).unwrap();
    let card = "(() => { const cards = document.querySelector('.program select'); \
         cards.selectedIndex = [...cards.options].findIndex(card => card.innerText.startsWith('RTX 4090')); \
         cards.dispatchEvent(new Event('change', { bubbles: true })); })()";
    open.page.eval(card).unwrap();
    open.wait_for_hash("23.52GiB");
    let all_fit = "[...document.querySelectorAll('.program tbody tr')].every(row => row.cells[3].innerText === 'yes')";
    open.page.wait_for(all_fit, PATIENCE).unwrap();
    type_size(&mut open, "720MiB");
    let fits = "JSON.stringify([...document.querySelectorAll('.program tbody tr')].map(row => row.cells[3].innerText)) === '[\"no\",\"yes\"]'";
    open.page.wait_for(fits, PATIENCE).unwrap();
    open.page
        .wait_for("location.hash.includes('720MiB')", PATIENCE)
        .unwrap();
    open.check_quiet();
}

#[test]
fn the_bars_are_those_of_the_plan() {
    let mut open = open_what_if();
    let bytes = "[...document.querySelectorAll('.way li button')].map(bar => bar.dataset.bytes)";
    let shown = open.page.eval(bytes).unwrap();
    let shown: Vec<u64> = shown
        .as_array()
        .unwrap()
        .iter()
        .map(|bytes| bytes.as_str().unwrap().parse().unwrap())
        .collect();
    let (known, whys): (Vec<u64>, Vec<String>) = planned(|_, plan| {
        plan.steps
            .iter()
            .map(|step| (step.bytes, step.why.clone()))
            .unzip()
    });
    assert_eq!(shown, known);
    // A click explains a step, and the address remembers it.
    open.page
        .eval("document.querySelector('.way li button').click()")
        .unwrap();
    open.page
        .wait_for(
            &format!(
                "document.querySelector('.why').innerText.includes({:?})",
                whys[0]
            ),
            PATIENCE,
        )
        .unwrap();
    open.wait_for_hash("what_if.step=requested");
    open.check_quiet();
}

#[test]
fn the_packing_and_the_map_share_pointer_and_pin() {
    let mut open = open_what_if();
    let stages = "document.querySelectorAll('.twins .stage canvas[data-drawn]').length == 2";
    open.page.wait_for(stages, PATIENCE).unwrap();
    let (x_px, y_px) = open
        .page
        .middle_of(".twins figure:first-child .stage")
        .unwrap();
    // Move up from the bottom until an allocation is under the pointer.
    let tip = "!!document.querySelector('.twins figure:first-child .tooltip')";
    let bottom = open
        .page
        .eval("document.querySelector('.twins .stage').getBoundingClientRect().bottom")
        .unwrap();
    let mut at = bottom.as_f64().unwrap() - 30.0;
    // A late answer may be about the previous place: the right one must stay.
    let stays = |open: &mut Open| {
        [60, 300].into_iter().all(|ms| {
            open.page.pause(Duration::from_millis(ms)).unwrap();
            open.page.eval(tip).unwrap() == true
        })
    };
    loop {
        assert!(at > y_px / 2.0, "nothing in the packing");
        open.page.mouse_move(x_px, at).unwrap();
        if stays(&mut open) {
            break;
        }
        at -= 12.0;
    }
    open.page.click(x_px, at, 1).unwrap();
    let told = "!!document.querySelector('.details.pinned')?.textContent.includes('Allocated')";
    open.page.wait_for(told, PATIENCE).unwrap();
    // What else is live then arrives later.
    let details = |open: &mut Open| {
        let text = open.page.text(".details.pinned").unwrap();
        text.split("Live at")
            .next()
            .map(|text| text.trim_end().to_owned())
    };
    let pinned = details(&mut open);
    // The same allocation is pinned in the map, too.
    open.page.key("4", Modifiers::NONE).unwrap();
    open.page
        .wait_for("!!document.querySelector('.view.map')", PATIENCE)
        .unwrap();
    // They are requested again.
    let end = Instant::now() + PATIENCE;
    while details(&mut open) != pinned && Instant::now() < end {
        open.page.pause(Duration::from_millis(20)).unwrap();
    }
    assert_eq!(details(&mut open), pinned);
    open.check_quiet();
}

#[test]
fn settings_are_replayed_and_kept_in_the_address() {
    let mut open = open_what_if();
    open.page
        .eval("document.querySelectorAll('.panel-bar input')[1].click()")
        .unwrap();
    // Suggested settings are replayed automatically; a click shows one.
    let tried = "document.querySelectorAll('[data-of=tried]')";
    let all =
        format!("{tried}.length > 4 && ![...{tried}].some(row => row.innerText.includes('…'))");
    open.page.wait_for(&all, PATIENCE).unwrap();
    let row = format!(
        "[...{tried}].find(row => row.querySelector('button').title == 'expandable_segments:True')"
    );
    open.page
        .eval(&format!("{row}.querySelector('button').click(); null"))
        .unwrap();
    let peak = planned(|device, _| {
        let settings = ModelSettings::of(device.snapshot());
        let settings = settings.with_changes("expandable_segments:True").unwrap();
        replay(device, &settings, Start::Afresh).peak_reserved_bytes
    });
    let says = format!(
        "(document.querySelector('[data-of=changed]')?.innerText ?? '').includes({:?})",
        display::bytes(peak)
    );
    open.page.wait_for(&says, PATIENCE).unwrap();
    assert!(
        open.page
            .text(".conf")
            .unwrap()
            .contains("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True")
    );
    open.wait_for_hash("what_if.settings=(expandable_segments:!t)");
    // A value that torch would refuse gets a message beside the field, is not replayed, and changes nothing.
    let place = "document.querySelector('.modelled table').getBoundingClientRect().top";
    let before = open.page.eval(place).unwrap();
    for (number, wrong, says) in [
        (0, "lots", "max_split_size"),
        (5, "24", "24 what? Write 24GiB."),
    ] {
        type_into(&mut open, number, wrong);
        let refused = format!(
            "(document.querySelector('.refusal')?.innerText ?? '').includes({says:?}) && \
             document.querySelectorAll('.changes input')[{number}].ariaInvalid === 'true'"
        );
        open.page.wait_for(&refused, PATIENCE).unwrap();
        assert_eq!(open.page.eval(place).unwrap(), before);
        type_into(&mut open, number, "");
        let mended = "!document.querySelector('.refusal') && !document.querySelector('.stale')";
        open.page.wait_for(mended, PATIENCE).unwrap();
    }
    open.check_quiet();
}

/// Types into a field of the settings.
fn type_into(open: &mut Open, number: usize, text: &str) {
    open.page
        .eval(&format!(
            "(() => {{ const field = document.querySelectorAll('.changes input')[{number}]; field.value = {text:?}; \
             field.dispatchEvent(new Event('change', {{bubbles: true}})); }})()"
        ))
        .unwrap();
}

#[test]
fn a_link_opens_the_settings_that_it_has() {
    let mut open = open_what_if();
    open.page
        .eval("document.querySelectorAll('.panel-bar input')[1].click()")
        .unwrap();
    open.page
        .wait_for("!!document.querySelector('[data-of=own]')", PATIENCE)
        .unwrap();
    type_into(&mut open, 3, "64");
    open.wait_for_hash("large_segment_size_mb");
    let hash = open.page.eval("location.hash").unwrap();
    let mut other = crate::open::open(hash.as_str().unwrap());
    other.choose(&[fixture(FIXTURE)]);
    other
        .page
        .wait_for(
            "(document.querySelector('[data-of=changed]')?.innerText ?? '').includes('large_segment_size_mb:64')",
            PATIENCE,
        )
        .unwrap();
    assert_eq!(
        other
            .page
            .eval("document.querySelectorAll('.changes input')[3].value")
            .unwrap(),
        "64"
    );
    other.check_quiet();
}

/// Its memory is free then. The workers left are the file's and the one that waits for the next file.
#[test]
fn the_planner_ends_with_the_view() {
    let mut open = open_fixture(FIXTURE);
    let workers = |open: &mut Open, wanted: usize| {
        let end = Instant::now() + PATIENCE;
        // A worker that ends while it is asked is an error.
        while !open
            .page
            .worker_bytes()
            .is_ok_and(|all| all.len() == wanted)
        {
            assert!(Instant::now() < end, "not {wanted} workers");
            open.page.pause(Duration::from_millis(50)).unwrap();
        }
    };
    open.page.key("9", Modifiers::NONE).unwrap();
    choose_panel(&mut open, "details");
    let done = "!!document.querySelector('.what-if[data-stage=done]')";
    open.page.wait_for(done, PATIENCE).unwrap();
    workers(&mut open, 3);
    open.page.key("2", Modifiers::NONE).unwrap();
    workers(&mut open, 2);
    open.page.key("9", Modifiers::NONE).unwrap();
    open.page.wait_for(done, PATIENCE).unwrap();
    open.check_quiet();
}
