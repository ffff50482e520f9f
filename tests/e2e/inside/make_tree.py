"""Makes a tree as a clone of a larger project leaves it: 5,000 files in 300 folders, and the same on every machine."""
import os

FILES, FOLDERS, EACH_TODO = 5000, 300, 250


def path_of(number):
    folder = number % FOLDERS
    return f"project/area{folder % 15:02}/part{folder:03}/module{number:04}.txt"


def text_of(number):
    todo = f"TODO(agent): settle {number}\n" if number % EACH_TODO == 0 else ""
    return f"module {number}\n{todo}limit = {number * 7 % 1000}\n" + f"line of {number}\n" * (number % 13)


if __name__ == "__main__":
    for number in range(FILES):
        os.makedirs(os.path.dirname(path_of(number)), exist_ok=True)
        with open(path_of(number), "w", encoding="utf-8") as file:
            file.write(text_of(number))
