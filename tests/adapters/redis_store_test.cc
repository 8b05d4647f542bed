// What is particular to the store on one Redis.
