import runpy, sys, torch
try: runpy.run_path(sys.argv[1], run_name="__main__")
except BaseException as e: print(type(e).__name__, str(e)[:60])
print("ooms", torch.cuda.memory_stats()["num_ooms"], "peak", torch.cuda.max_memory_allocated() >> 20, "allocated", torch.cuda.memory_allocated() >> 20)
