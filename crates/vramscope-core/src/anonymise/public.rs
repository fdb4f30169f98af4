//! Names that reveal nothing about anybody: those of public packages, of Python and of PyTorch.

/// Whether a list of words separated by spaces contains a word.
fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// Packages on PyPI and conda-forge that training code uses, by the names of their folders or single files.
const PACKAGES: &str = "\
    IPython PIL _pytest absl accelerate aiohttp anyio apex asgiref bitsandbytes click colossalai \
    composer cuda cudf cuml cupy cv2 dask datasets debugpy decorator deepspeed dgl diffusers einops einx \
    evaluate fairscale fastai fastapi filelock fire flash_attn flax fsspec functorch gradio \
    huggingface_hub hydra ignite ipykernel jax jaxlib jaxtyping joblib jupyter_client keras kornia \
    lightning lightning_fabric litgpt lm_eval matplotlib mmcv mmengine monai multiprocess nbclient \
    networkx numba numpy nvidia omegaconf onnx onnxruntime open_clip optimum packaging pandas peft \
    pluggy pyarrow pydantic pytest pytorch_lightning ray safetensors scipy sentence_transformers sglang \
    sklearn starlette streamlit sympy tensorboard tensordict timm tokenizers torch torch_geometric \
    torchao torchaudio torchdata torchgen torchmetrics torchrec torchrl torchtext torchtitan torchtune \
    torchvision tornado tqdm traitlets transformer_engine transformers triton trl uvicorn xformers";

/// Whether a folder or file in `site-packages` belongs to a public package.
pub(super) fn is_package(component: &str) -> bool {
    let name = component.strip_suffix(".py").unwrap_or(component);
    is_in(PACKAGES, name)
}

/// Folders that exist on every machine.
const FOLDERS: &str = "\
    . .. .conda .local .pyenv .venv Users anaconda3 bin build conda data envs home lib lib64 Lib local \
    miniconda3 mnt opt root src tmp usr venv workspace";

/// Whether a folder's name reveals nothing wherever it is.
pub(super) fn is_folder(component: &str) -> bool {
    let is_drive = matches!(component.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic());
    is_drive
        || is_site(component)
        || is_python(component)
        || component.is_empty()
        || is_in(FOLDERS, component)
}

/// Whether it is a folder of installed packages.
pub(super) fn is_site(component: &str) -> bool {
    matches!(component, "site-packages" | "dist-packages")
}

/// Whether it is named like the folder of the standard library or the one above it: `python3.12`, `Python311`.
pub(super) fn is_python(component: &str) -> bool {
    let version = component
        .strip_prefix("python")
        .or(component.strip_prefix("Python"));
    version.is_some_and(|version| version.starts_with(['2', '3']) && is_version(version))
}

/// Whether it is named like a build folder of Python: `Python-3.11.1`, `python-3.12.2`, `python-split_1715024085344`.
pub(super) fn is_python_source(component: &str) -> bool {
    let version = component
        .strip_prefix("python-")
        .or(component.strip_prefix("Python-"));
    version.is_some_and(|version| is_version(version.strip_prefix("split_").unwrap_or(version)))
}

fn is_version(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Top-level folders of PyTorch's source, below a folder `pytorch`.
pub(super) fn is_torch_source(component: &str) -> bool {
    matches!(
        component,
        "torch" | "aten" | "c10" | "caffe2" | "third_party" | "build"
    )
}

/// Top-level folders of the C library's source, in paths that begin with `./`.
pub(super) fn is_libc_source(component: &str) -> bool {
    matches!(
        component,
        "csu" | "nptl" | "misc" | "sysdeps" | "posix" | "stdlib" | "elf"
    )
}

/// Modules of the standard library that occur without a folder, from the profiler or frozen.
pub(super) fn is_standard_module(name: &str) -> bool {
    const MODULES: &str = "\
        _collections_abc abc codecs contextlib functools importlib._bootstrap importlib._bootstrap_external \
        os queue runpy selectors site socketserver threading zipimport";
    is_in(MODULES, name)
}

/// Endings of source files.
pub(super) fn is_ending(ending: &str) -> bool {
    const ENDINGS: &str = "\
        a c cc cpp cu cuh cxx dll h hh hpp ipynb pxd py pyc pyd pyw pyx so";
    is_in(ENDINGS, ending)
}

/// Function names given by PyTorch or the language, whoever wrote the function.
pub(super) fn is_function(name: &str) -> bool {
    const FUNCTIONS: &str = "\
        ?? <dictcomp> <genexpr> <lambda> <listcomp> <locals> <module> <setcomp> __call__ __create_fn__ \
        __del__ __enter__ __eq__ __exit__ __ge__ __getattr__ __getitem__ __gt__ __hash__ __init__ \
        __init_subclass__ __iter__ __le__ __len__ __lt__ __new__ __next__ __post_init__ __repr__ __setattr__ \
        __setitem__ __str__ __torch_dispatch__ __torch_function__ _call_impl _wrapped_call_impl backward \
        clone clone3 forward main start_thread step";
    name == "<unwind unsupported>" || is_in(FUNCTIONS, name)
}

/// Prefixes of functions of CPython, of Cython, the C library and CUDA's libraries.
pub(super) fn is_runtime(name: &str) -> bool {
    const BEGINNINGS: [&str; 15] = [
        // Cython's own helpers.
        "__Pyx_",
        "_Py",
        "Py_",
        "__libc_",
        "__clone",
        "pthread_",
        "cfunction_",
        "method_vectorcall",
        "slot_am_",
        "slot_mp_",
        "slot_nb_",
        "slot_sq_",
        "slot_tp_",
        "execute_native_thread_routine",
        "wrap_call",
    ];
    let is_c_api = name.strip_prefix("Py").is_some_and(|rest| {
        rest.starts_with(|first: char| first.is_ascii_uppercase()) && rest.contains('_')
    });
    is_c_api
        || matches!(
            name,
            "_start" | "partial_call" | "partial_vectorcall" | "partial_new"
        )
        || BEGINNINGS
            .iter()
            .any(|beginning| name.starts_with(beginning))
}

/// Namespaces of PyTorch, of libraries that it contains, and of C++.
pub(super) fn is_namespace(name: &str) -> bool {
    const NAMESPACES: &str = "\
        at c10 c10d caffe2 cub cuda cutlass fmt gloo nccl pybind11 ska std thrust torch tensorpipe __gnu_cxx \
        __cxxabiv1 __detail";
    is_in(NAMESPACES, name)
}

/// Words of C++ and its compilers, and C names of libraries that PyTorch contains.
pub(super) fn is_native_word(word: &str) -> bool {
    const WORDS: &str = "\
        _object anonymous auto bool char class clone cold const constprop decltype delete double enum false \
        float half int int16_t int32_t int64_t int8_t isra lambda long namespace new nullptr operator part \
        restrict short signed size_t static struct true typename uint16_t uint32_t uint64_t uint8_t unsigned \
        void volatile";
    const BEGINNINGS: [&str; 3] = ["THP", "cublas", "cudnn"];
    is_in(WORDS, word)
        || is_runtime(word)
        || BEGINNINGS
            .iter()
            .any(|beginning| word.starts_with(beginning))
}

/// Words of labels that mark steps, or that torch, its profiler and its compiler use.
pub(super) fn is_label_word(word: &str) -> bool {
    const WORDS: &str = "\
        step steps iteration iter it minibatch batch epochs epoch train training eval evaluation validation \
        val test forward backward phase loss zero grad optimizer Optimizer ProfilerStep DataLoader enumerate \
        init warmup SGD Adam AdamW Adagrad Adadelta Adamax RMSprop Rprop NAdam RAdam LBFGS ASGD SparseAdam \
        Adafactor Muon Torch Compiled Region TorchDynamo AOTDispatcher Pregraph bytecode Call \
        CompiledFxGraph CompiledFunction CompiledFunctionBackward CachingAutotuner inductor dynamo timed \
        record param comms nccl gloo d c aten autograd engine all reduce gather scatter broadcast barrier \
        mallocWithAddress N A parameter gradient state input activation temporary detail unknown call \
        function method module get attr placeholder output root";
    is_in(WORDS, word)
}
