//! Lines in which frameworks log their memory.

use crate::cursor::Cursor;
use crate::figure::Figure;

/// A quantity in a log line: the framework, its meaning, and the amount.
pub(crate) type Told = (&'static str, &'static str, Figure);

/// A word in a line without white space that precedes a size; the framework, and the size's meaning.
const SIZES: [(&str, &str, &str); 17] = [
    ("modelweightstake", "vLLM", "weights"),
    ("non_torch_memorytakes", "vLLM", "outside PyTorch"),
    (
        "PyTorchactivationpeakmemorytakes",
        "vLLM",
        "activations at their peak",
    ),
    ("therestofthememoryreservedforKVCacheis", "vLLM", "KV cache"),
    ("AvailableKVcachememory:", "vLLM", "KV cache"),
    (
        "EstimatedCUDAgraphmemory:",
        "vLLM",
        "CUDA graphs, estimated",
    ),
    ("Modelloadingtook", "vLLM", "weights"),
    ("modelweightstook", "vLLM", "weights"),
    ("Sleepmodefreed", "vLLM", "freed by sleep mode"),
    ("availmem=", "SGLang", "free on the device"),
    ("Ksize:", "SGLang", "KV cache, keys"),
    ("Vsize:", "SGLang", "KV cache, values"),
    ("modelbuffersize=", "llama.cpp", "weights"),
    ("KVbuffersize=", "llama.cpp", "KV cache"),
    ("computebuffersize=", "llama.cpp", "compute buffers"),
    ("GiBmemory,", "vLLM", "in use after sleep"),
    (
        "CPUVirtualMemory:used=",
        "DeepSpeed",
        "of the computer's own memory in use",
    ),
];

/// A word that precedes a number whose unit is elsewhere in the line.
const NUMBERS: [(&str, &str, &str, &str); 7] = [
    ("|allocated:", "Megatron", "allocated", "MB"),
    ("|maxallocated:", "Megatron", "allocated at most", "MB"),
    ("|reserved:", "Megatron", "reserved", "MB"),
    ("|maxreserved:", "Megatron", "reserved at most", "MB"),
    ("memoryallocated(GB):", "verl", "allocated", "GB"),
    ("memoryreserved(GB):", "verl", "reserved", "GB"),
    (
        "devicememoryused/total(GB):",
        "verl",
        "in use on the device",
        "GB",
    ),
];

/// All quantities in a line without white space.
pub(crate) fn told(line: &[u8]) -> Vec<Told> {
    let mut told: Vec<Told> = Vec::new();
    if let Some(figures) = deepspeed(line) {
        return figures;
    }
    let sizes = SIZES.iter().filter_map(|&(head, tool, what)| {
        let mut cursor = Cursor::behind(line, head)?;
        Some((tool, what, cursor.figure()?))
    });
    told.extend(sizes);
    let numbers = NUMBERS.iter().filter_map(|&(head, tool, what, unit)| {
        let mut cursor = Cursor::behind(line, head)?;
        Some((tool, what, cursor.figure_in(unit)?))
    });
    told.extend(numbers);
    // `Graph capturing finished in 1 secs, took 0.46 GiB`
    if let Some(mut cursor) = Cursor::behind(line, "Graphcapturingfinishedin") {
        let graphs = cursor.seek("took", 32).and_then(|()| cursor.figure());
        told.extend(graphs.map(|graphs| ("vLLM", "CUDA graphs", graphs)));
    }
    // `Capture cuda graph end. Time elapsed: 19.50 s. mem usage=6.19 GB.`
    if let Some(mut cursor) = Cursor::behind(line, "Capturecudagraphend.") {
        let graphs = cursor.seek("memusage=", 40).and_then(|()| cursor.figure());
        told.extend(graphs.map(|graphs| ("SGLang", "CUDA graphs", graphs)));
    }
    // `Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=21.73 GB, mem usage=166.59 GB.`
    if let Some(mut cursor) = Cursor::behind(line, "Loadweightend.") {
        let weights = cursor.seek("memusage=", 160).and_then(|()| cursor.figure());
        told.extend(weights.map(|weights| ("SGLang", "weights", weights)));
    }
    let has = |word: &str| memchr::memmem::find(line, word.as_bytes()).is_some();
    // `step: 7  loss: 4.84441  memory: 170.22GiB(95.44%)  tps: 10,917`, and once `CUDA memory usage for model: 1.94GiB(2.04%)`
    for (head, what) in [
        ("memory:", "reserved at most"),
        ("memoryusageformodel:", "reserved for the model"),
    ] {
        let mut cursor = Cursor::behind(line, head);
        let peak = cursor.as_mut().and_then(Cursor::figure);
        let is_share =
            cursor.is_some_and(|mut it| it.eat("(").is_some() && it.seek("%)", 6).is_some());
        // Other programs print shares of their memory, too.
        let is_own = head != "memory:" || has("tps:") || has("step:");
        told.extend(
            peak.filter(|_| is_share && is_own)
                .map(|peak| ("torchtitan", what, peak)),
        );
    }
    // `the current vLLM instance can use total_gpu_memory (15.77GiB) x gpu_memory_utilization (0.95) = 14.98GiB`
    if let Some(mut cursor) = Cursor::behind(line, "gpu_memory_utilization(") {
        let share = cursor.seek(")=", 16).and_then(|()| cursor.figure());
        told.extend(share.map(|share| ("vLLM", "all that it may use", share)));
    }
    told
}

/// The parts of a line that several ranks wrote at once, each with its beginning.
pub(crate) fn parts(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let next = rest.get(1..)?;
        let length = memchr::memmem::find(next, b"[Rank ").map_or(rest.len(), |at| at + 1);
        let (part, later) = rest.split_at(length);
        rest = later;
        Some(part)
    })
}

/// The device of one of llama.cpp's buffers: `CUDA0` of `load_tensors:        CUDA0 model buffer size =  3820.94 MiB`.
pub(crate) fn buffer_device(line: &[u8]) -> String {
    let end = memchr::memmem::find(line, b"buffersize=").unwrap_or(0);
    let name = line[..end].rsplit(|&byte| byte == b':').next();
    let name = String::from_utf8_lossy(name.unwrap_or_default());
    let kinds = ["model", "KV", "compute", "output", "RS"].into_iter();
    let mut names = kinds.filter_map(|kind| name.strip_suffix(kind));
    let is_name = |name: &&str| {
        let mut bytes = name.bytes();
        name.len() <= 24 && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    names.next().filter(is_name).unwrap_or_default().to_owned()
}

/// `MA 4.96 GB         Max_MA 5.09 GB         CA 6.39 GB         Max_CA 6 GB`
fn deepspeed(line: &[u8]) -> Option<Vec<Told>> {
    let at = memchr::memmem::find(line, b"Max_MA")?;
    let start = memchr::memmem::rfind(&line[..at], b"MA")?;
    let mut cursor = Cursor::new(line);
    cursor.at = start;
    let mut told = Vec::new();
    for (head, what) in [
        ("MA", "allocated"),
        ("Max_MA", "allocated at most"),
        ("CA", "reserved"),
        ("Max_CA", "reserved at most"),
    ] {
        cursor.eat(head)?;
        told.push(("DeepSpeed", what, cursor.figure()?));
    }
    Some(told)
}
