//! Snapshots of a training run with one planted cause each. Sizes, lines and names are random, and no name gives the
//! cause away.

use std::fmt::Write as _;

use vramscope_synth::Rng;
use vramscope_synth::snapshot::Producer;
use vramscope_synth::text;

pub(super) struct Planted {
    pub(super) cause: &'static str,
    /// The files, by name: several are ranks of one job.
    pub(super) files: Vec<(String, Vec<u8>)>,
    /// The classes that name the cause.
    pub(super) classes: &'static [&'static str],
    /// A text that identifies the place.
    pub(super) place: String,
}

type Plant = fn(&mut Rng) -> (Vec<String>, &'static [&'static str], String);

/// The causes, under the judge's names.
const CAUSES: [(&str, Plant); 11] = [
    ("leak", leak),
    ("cache", cache),
    ("fragmentation", fragmentation),
    ("stream", stream),
    ("pool", pool),
    ("activations", activations),
    ("optimizer", optimizer),
    ("rank", rank),
    ("limit", limit),
    ("others", others),
    ("size", size),
];

/// One snapshot, or one job, of each cause.
pub(super) fn all(seed: u64) -> impl Iterator<Item = Planted> {
    CAUSES.into_iter().map(move |(cause, plant)| {
        let mut rng = Rng::new(seed * 1000 + cause.len() as u64);
        let (texts, classes, place) = plant(&mut rng);
        let single = texts.len() == 1;
        let files = texts.iter().enumerate().map(|(rank, text)| {
            let name = if single {
                "snapshot.pickle".to_owned()
            } else {
                format!("rank{rank}.pickle")
            };
            let bytes = text::pickle(text, Producer::Python(2, 8));
            (
                name,
                bytes.unwrap_or_else(|error| panic!("{cause}: {error}\n{text}")),
            )
        });
        Planted {
            cause,
            files: files.collect(),
            classes,
            place,
        }
    })
}

/// A training run that is written down line by line.
struct Run {
    text: String,
    made: usize,
}

const BACKWARD: &str = "app/main.py:31:run > torch/_tensor.py:648:backward > torch/autograd/graph.py:824:_engine_run_backward";
const OPTIMIZER: &str =
    "app/main.py:32:run > torch/optim/adamw.py:220:step > torch/optim/adamw.py:149:_init_group";

impl Run {
    /// Begins with parameters.
    fn new(rng: &mut Rng) -> Self {
        let mut run = Self {
            text: String::new(),
            made: 0,
        };
        for layer in 0..4 {
            let line = 10 + layer;
            run.alloc(
                rng.between(20, 40),
                &format!("app/main.py:12:build > app/net.py:{line}:__init__"),
            );
        }
        run
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Allocates this many MiB, and returns the name.
    fn alloc(&mut self, mib: u64, stack: &str) -> String {
        self.alloc_in(mib, "", stack)
    }

    fn alloc_in(&mut self, mib: u64, place: &str, stack: &str) -> String {
        let name = format!("a{}", self.made);
        self.made += 1;
        let _ = writeln!(self.text, "alloc {name} {mib}MiB {place} {stack}");
        name
    }

    fn free(&mut self, name: &str) {
        self.line(&format!("free {name} {BACKWARD}"));
    }

    /// One step: activations, their backward pass, gradients. `within` is called after the forward pass.
    fn step(
        &mut self,
        number: u64,
        mib: u64,
        rng: &mut Rng,
        within: impl FnOnce(&mut Self, &mut Rng),
    ) {
        self.line(&format!("begin ProfilerStep#{number}"));
        let layers = (0..6).map(|layer| {
            let line = 40 + layer;
            self.alloc(mib, &format!("app/main.py:30:run > app/net.py:{line}:forward > torch/nn/modules/linear.py:134:forward"))
        });
        let made: Vec<String> = layers.collect();
        within(self, rng);
        for name in made.iter().rev() {
            let gradient = self.alloc(rng.between(2, 4), BACKWARD);
            self.free(name);
            self.free(&gradient);
        }
        self.line(&format!("end ProfilerStep#{number}"));
    }

    fn steps(&mut self, mib: u64, rng: &mut Rng) {
        for number in 0..rng.between(6, 9) {
            self.step(number, mib, rng, |_, _| {});
        }
    }
}

/// A place in user code: the stack's last frame, and the place's name.
fn site(rng: &mut Rng) -> (String, String) {
    let files = [
        "app/loop.py",
        "app/data.py",
        "app/util.py",
        "lib/ops.py",
        "lib/parts.py",
    ];
    let names = ["run", "apply", "handle", "update", "visit", "collect"];
    let (file, line, name) = (*rng.pick(&files), rng.between(20, 400), *rng.pick(&names));
    let stack = format!(
        "app/main.py:{}:run > {file}:{line}:{name}",
        rng.between(20, 60)
    );
    (stack, format!("{file}:{line} {name}"))
}

const PILES_UP: &[&str] = &["growth_per_step", "never_freed"];

/// Each step, or every second one, leaves something behind.
fn leak(rng: &mut Rng) -> (Vec<String>, &'static [&'static str], String) {
    let (stack, place) = site(rng);
    let (mut run, mib, each) = (Run::new(rng), rng.between(18, 50), rng.between(1, 2));
    for number in 0..rng.between(8, 12) {
        run.step(number, 20, rng, |run, _| {
            if number % each == 0 {
                run.alloc(mib, &stack);
            }
        });
    }
    let (last, is_over) = (rng.between(900, 3000), rng.chance(50));
    if is_over {
        run.line(&format!(
            "oom {last}MiB free={}MiB app/main.py:30:run > app/net.py:44:forward",
            last - rng.between(200, 300)
        ));
    }
    (vec![run.text], PILES_UP, place)
}

/// A buffer that is replaced in each step by a longer one.
fn cache(rng: &mut Rng) -> (Vec<String>, &'static [&'static str], String) {
    let (stack, place) = site(rng);
    let (mut run, mib) = (Run::new(rng), rng.between(10, 30));
    let mut last: Option<String> = None;
    for number in 0..rng.between(8, 12) {
        run.step(number, 20, rng, |run, _| {
            let grown = run.alloc(mib * (number + 1), &stack);
            if let Some(last) = last.replace(grown) {
                run.line(&format!("free {last} {stack}"));
            }
        });
    }
    (vec![run.text], PILES_UP, place)
}

/// Small blocks that stay keep segments whose other memory is free.
fn fragmentation(rng: &mut Rng) -> (Vec<String>, &'static [&'static str], String) {
    let (stack, place) = site(rng);
    let (mut run, pairs) = (Run::new(rng), rng.between(20, 40));
    let mut passing = Vec::new();
    for _ in 0..pairs {
        passing.push(run.alloc(18, "app/main.py:22:run > app/net.py:70:warm_up"));
        run.alloc(2, &stack);
    }
    for name in passing {
        run.line(&format!("free {name} app/main.py:23:run"));
    }
    if rng.chance(60) {
        let wanted = rng.between(60, 17 * pairs);
        run.line(&format!(
            "oom {wanted}MiB free={}MiB app/main.py:30:run > app/net.py:44:forward",
            rng.between(1, 30)
        ));
    } else {
        run.steps(24, rng);
    }
    (vec![run.text], &["fragmentation"], place)
}

/// Another stream holds memory that the program has freed.
fn stream(rng: &mut Rng) -> (Vec<String>, &'static [&'static str], String) {
    let (stack, place) = site(rng);
    let (mut run, mib) = (Run::new(rng), rng.between(30, 80));
    let mut waiting = Vec::new();
    for number in 0..rng.between(6, 9) {
        run.step(number, 20, rng, |run, rng| {
            for _ in 0..rng.between(2, 4) {
                let sent = run.alloc(mib, &stack);
                run.line(&format!("free_requested {sent} {stack}"));
                waiting.push(sent);
            }
        });
        // Much later they are done.
        if number >= 3 {
            for name in waiting.drain(..3) {
                run.line(&format!("free_completed {name}"));
            }
        }
    }
    (vec![run.text], &["pending_free"], place)
}

/// A pool of the user's own holds memory that nothing else can use.
fn pool(rng: &mut Rng) -> (Vec<String>, &'static [&'static str], String) {
    let (stack, _) = site(rng);
    let (mut run, number) = (Run::new(rng), rng.between(1, 9));
    let place = format!("pool=0,{number}");
    let kept: Vec<_> = (0..rng.between(4, 8))
        .map(|_| run.alloc_in(rng.between(60, 120), &place, &stack))
        .collect();
    for name in &kept[1..] {
        run.line(&format!("free {name} {stack}"));
    }
    if rng.chance(50) {
        run.line(&format!(
            "oom 230MiB free={}MiB app/main.py:30:run > app/net.py:44:forward",
            rng.between(10, 60)
        ));
    } else {
        run.steps(20, rng);
    }
    (vec![run.text], &["private_pool"], format!("(0, {number})"))
}

/// The forward pass needs too much, most of it for one layer.
fn activations(rng: &mut Rng) -> (Vec<String>, &'static [&'static str], String) {
    let line = rng.between(50, 90);
    let stack = format!(
        "app/main.py:30:run > app/net.py:{line}:forward > torch/nn/functional.py:2100:softmax"
    );
    let mut run = Run::new(rng);
    let mib = rng.between(100, 300);
    for number in 0..rng.between(3, 5) {
        run.step(number, 20, rng, |run, _| {
            let kept: Vec<_> = (0..6).map(|_| run.alloc(mib, &stack)).collect();
            for name in kept.iter().rev() {
                run.free(name);
            }
        });
    }
    run.line("begin ProfilerStep#9");
    for _ in 0..7 {
        run.alloc(mib, &stack);
    }
    run.line(&format!("oom {}MiB free=20MiB {stack}", mib + 100));
    (
        vec![run.text],
        &["too_much_live"],
        format!("app/net.py:{line} forward"),
    )
}

/// The optimizer's state is the largest part.
fn optimizer(rng: &mut Rng) -> (Vec<String>, &'static [&'static str], String) {
    let mut run = Run::new(rng);
    for number in 0..rng.between(3, 5) {
        run.step(number, 10, rng, |_, _| {});
        if number == 0 {
            for _ in 0..8 {
                run.alloc(rng.between(80, 160), OPTIMIZER);
            }
        }
    }
    (
        vec![run.text],
        &["too_much_live"],
        "optimizer state".to_owned(),
    )
}

/// One of several ranks holds more, at one call site.
fn rank(rng: &mut Rng) -> (Vec<String>, &'static [&'static str], String) {
    let (stack, place) = site(rng);
    let (ranks, base) = (rng.between(4, 7), rng.between(200, 400));
    let (odd, more) = (rng.below(ranks), rng.between(150, 300));
    let start = rng.clone();
    let texts = (0..ranks).map(|rank| {
        let mut run = Run::new(&mut start.clone());
        run.alloc(base + rank % 2, &stack);
        if rank == odd {
            run.alloc(more, &stack);
        }
        for number in 0..3 {
            run.step(number, 20, &mut start.clone(), |_, _| {});
        }
        run.text
    });
    (texts.collect(), &["odd_rank"], place)
}

/// The device has enough memory; the process may not use it.
fn limit(rng: &mut Rng) -> (Vec<String>, &'static [&'static str], String) {
    let mut run = Run::new(rng);
    if rng.chance(60) {
        run.text
            .insert_str(0, "setting alloc_conf=per_process_memory_fraction:0.5\n");
    }
    run.steps(30, rng);
    let wanted = rng.between(300, 900);
    let free = wanted * rng.between(3, 20);
    run.line(&format!(
        "oom {wanted}MiB free={free}MiB app/main.py:30:run > app/net.py:44:forward"
    ));
    (
        vec![run.text],
        &["limit"],
        "app/net.py:44 forward".to_owned(),
    )
}

/// Another process has taken the memory that this one released.
fn others(rng: &mut Rng) -> (Vec<String>, &'static [&'static str], String) {
    let (mut run, large) = (Run::new(rng), rng.between(2000, 5000));
    let batch = run.alloc(large, "app/main.py:14:load");
    run.line(&format!("free {batch} app/main.py:15:load"));
    run.line("empty_cache");
    run.steps(24, rng);
    let wanted = large - rng.between(500, 900);
    run.line(&format!(
        "oom {wanted}MiB free={}MiB app/main.py:30:run > app/net.py:44:forward",
        rng.between(5, 40)
    ));
    (
        vec![run.text],
        &["other_processes"],
        "app/net.py:44 forward".to_owned(),
    )
}

/// A request with an unintended size.
fn size(rng: &mut Rng) -> (Vec<String>, &'static [&'static str], String) {
    let mut run = Run::new(rng);
    run.steps(24, rng);
    let free = rng.between(20_000, 70_000);
    run.line(&format!(
        "oom {}MiB free={free}MiB app/main.py:30:run > app/net.py:44:forward",
        free * rng.between(3, 900)
    ));
    (
        vec![run.text],
        &["request_too_large"],
        "app/net.py:44 forward".to_owned(),
    )
}
